/**
 * The minimum for the same requests: node:http, pg, one prepared statement each, JSON made by PostgreSQL.
 * Without keys, validation, next pages and logs. Invalid requests get wrong answers.
 */
import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { setting } from '../support/processes.ts';
import { POOL_SIZE } from './settings.ts';

const pool = new pg.Pool({ connectionString: setting('DATABASE_URL'), max: POOL_SIZE });

const columns = 'id, name, category_id AS "categoryId", status';
const list = (where: string) =>
  `SELECT coalesce(json_agg(page), '[]')::text AS json
   FROM (SELECT ${columns} FROM pet WHERE ${where} ORDER BY id LIMIT $2) AS page`;
const statements = {
  listAll: list('id > $1'),
  listByStatus: list('id > $1 AND status = $3'),
  get: `SELECT row_to_json(pet)::text AS json FROM (SELECT ${columns} FROM pet WHERE id = $1) AS pet`,
  create: `WITH pet AS (INSERT INTO pet (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${columns})
           SELECT row_to_json(pet)::text AS json FROM pet`,
} as const;

async function ask(name: keyof typeof statements, values: readonly unknown[]) {
  const { rows } = await pool.query<{ json: string }>({
    name,
    text: statements[name],
    values: [...values],
  });
  return rows[0]?.json;
}

function send(response: ServerResponse, status: number, json = ''): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) };
  response.writeHead(status, headers).end(json);
}

async function answer(url: string, response: ServerResponse): Promise<void> {
  const [path = '', query] = url.split('?');
  if (path !== '/v1/pets') return send(response, 200, await ask('get', [path.slice(9)]));
  const asked = new URLSearchParams(query);
  const page = [asked.get('cursor') ?? 0, asked.get('limit') ?? 20];
  const status = asked.get('status');
  const json = status === null ? ask('listAll', page) : ask('listByStatus', [...page, status]);
  send(response, 200, await json);
}

const server = createServer(async (request, response) => {
  try {
    if (request.method !== 'POST') return await answer(request.url ?? '', response);
    const { name, categoryId, status = 'available' } = JSON.parse(await text(request));
    send(response, 201, await ask('create', [name, categoryId, status]));
  } catch (fault) {
    console.error(fault);
    send(response, 500);
  }
});
server.listen(Number(setting('PORT')), '127.0.0.1', () => process.stdout.write('listening\n'));
