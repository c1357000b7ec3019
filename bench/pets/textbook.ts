/** A textbook service: Fastify with JSON schemas, Prisma, one fixed bearer key. Its log is off. */
import { PrismaPg } from '@prisma/adapter-pg';
import Fastify from 'fastify';
import { type PetStatus, PrismaClient } from '../../src/db/generated/client.ts';
import { setting } from '../support/processes.ts';
import { POOL_SIZE, statuses } from './settings.ts';

type NewPet = { name: string; categoryId: number; status: PetStatus };
type ListQuery = { limit: number; status?: PetStatus; cursor?: string };

const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: setting('DATABASE_URL'), max: POOL_SIZE }),
});
const app = Fastify({ logger: false });
const authorization = `Bearer ${setting('KEY')}`;

const status = { type: 'string', enum: statuses };
const pet = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    categoryId: { type: 'integer' },
    status,
  },
};
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 255 },
    categoryId: { type: 'integer' },
    status: { ...status, default: 'available' },
  },
};
const listQuery = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    status,
    cursor: { type: 'string', pattern: '^\\d{1,18}$' },
  },
};
const petId = { type: 'object', properties: { petId: { type: 'string', pattern: '^\\d{1,18}$' } } };

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization === authorization) return;
  await reply.code(401).send({ code: 'unauthorized', message: 'The key is wrong.', status: 401 });
});

app.get<{ Querystring: ListQuery }>(
  '/v1/pets',
  { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
  async (request, reply) => {
    const { limit, status, cursor } = request.query;
    const pets = await prisma.pet.findMany({
      where: { ...(status && { status }), ...(cursor && { id: { gt: BigInt(cursor) } }) },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    const page = pets.slice(0, limit);
    if (pets.length > limit) {
      reply.header('link', `</v1/pets?limit=${limit}&cursor=${page.at(-1)?.id}>; rel="next"`);
    }
    return page;
  },
);

app.get<{ Params: { petId: string } }>(
  '/v1/pets/:petId',
  { schema: { params: petId, response: { 200: pet } } },
  async (request, reply) => {
    const found = await prisma.pet.findUnique({ where: { id: BigInt(request.params.petId) } });
    if (found !== null) return found;
    return reply.code(404).send({ code: 'not_found', message: 'No such animal.', status: 404 });
  },
);

app.post<{ Body: NewPet }>(
  '/v1/pets',
  { schema: { body: newPet, response: { 201: pet } } },
  async (request, reply) => {
    const { name, categoryId, status } = request.body;
    const created = await prisma.pet.create({
      data: { name, categoryId: BigInt(categoryId), status },
    });
    return reply.code(201).send(created);
  },
);

await app.listen({ host: '127.0.0.1', port: Number(setting('PORT')) });
process.stdout.write('listening\n');
