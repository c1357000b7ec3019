/** An issued certificate whose row cannot be written (boulder, cert_storage_failed_test.py). */
import type { Fault } from '../fault.ts';
import { addNewcomer } from '../load/newcomer.ts';
import { until } from '../system/wait.ts';

const install = `
  CREATE SEQUENCE faults_once;
  CREATE FUNCTION faults_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF nextval('faults_once') = 1 THEN RAISE EXCEPTION 'a fault: the row is refused once'; END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER faults_refuse BEFORE UPDATE ON certificate FOR EACH ROW
    WHEN (NEW.status = 'issued' AND OLD.status = 'ordering' AND NEW.hostname LIKE 'unstored-%')
    EXECUTE FUNCTION faults_refuse()`;
const uninstall = `
  DROP TRIGGER faults_refuse ON certificate;
  DROP FUNCTION faults_refuse();
  DROP SEQUENCE faults_once`;

export const certificateUnstored: Fault = {
  name: 'certificate-unstored',
  what: 'a trigger rejects the row of one issued certificate, once',
  pass: 'the next try stores key and certificate, no second order',
  seconds: 10,
  parts: ['authority'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 10,
  async inject(world) {
    const { authority, sql } = world.system;
    await sql(install);
    try {
      const hostname = await addNewcomer(world, 'unstored', 'three.test');
      const issued = async () =>
        (
          await sql('SELECT FROM certificate WHERE hostname = $1 AND status = $2', [
            hostname,
            'issued',
          ])
        ).length === 1;
      await until(`${hostname} has its certificate`, issued, 120_000);
      const [row] = await sql<{ tries: string }>('SELECT last_value AS tries FROM faults_once');
      const orders = authority.placed.filter((placed) => placed.hostname === hostname).length;
      return {
        seen: [`stored at try ${row?.tries}, ${orders} order`],
        wrong: [
          ...(orders === 1 ? [] : [`${hostname} was ordered ${orders} times`]),
          ...(Number(row?.tries) >= 2 ? [] : ['the row was never refused']),
        ],
      };
    } finally {
      await sql(uninstall);
    }
  },
};
