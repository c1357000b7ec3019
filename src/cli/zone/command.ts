/** `signpost zone`: its options and its help. */
import { jsonOption, notes, type Program, type Run } from '../command.ts';

export function defineZone(program: Program, run: Run): void {
  program
    .command('zone')
    .description('show the DNS records to publish for the platform itself, as lines of a zone file')
    .option('--ttl <seconds>', 'of every record, 1 to 86400; 300 where it is left out')
    .option('--accounturi <url>', 'only our account may be issued for (RFC 8657)')
    .option(
      '--validationmethods <methods>',
      'only by these: ACME_CHALLENGE’s, or http-01,tls-alpn-01 (RFC 8657)',
    )
    .addOption(jsonOption('the same records for programs'))
    .addHelpText(
      'after',
      notes(
        'They stand below PLATFORM_DOMAIN: the edge’s addresses, and the CAA records by which a customer’s own do not keep a subdomain from its certificate. docs/platform-zone.md says why.',
        'They are made of the service’s PLATFORM_DOMAIN, PLATFORM_ADDRESSES, ACME_ISSUER_DOMAINS, ACME_FALLBACK_ISSUER_DOMAINS and ACME_CONTACT, from the environment or .env. Nothing is asked or changed.',
        'Exit 0: done. Exit 2: something is missing or wrong.',
      ),
    )
    .action((options) =>
      run(async (io) => {
        const { runZone } = await import('./zone.ts');
        return runZone(options, io);
      }),
    );
}
