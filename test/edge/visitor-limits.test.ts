import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { trustedProxies } from '../../src/net/client-address.ts';
import { closeAfterEach } from '../support/closings.ts';
import { anybody, type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const perAddress = 300;
const closings = closeAfterEach();
let edge: EdgeFixture;

async function start(trusted: readonly string[] = []) {
  const visitors = {
    ...anybody,
    connectionsPerAddress: perAddress,
    isTrusted: trustedProxies(trusted),
  };
  // A silent connection outlasts the test, even on a busy machine.
  const patient = { handshakeMs: 300_000, headersMs: 300_000 };
  edge = await startEdgeFixture(patient, { visitors });
  closings.push(edge.close);
  const deploy = await startDeploy((_request, response) => response.end('hello'));
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url);
}

/**
 * Opens silent connections. A rejected one ends; the others are established once a response has
 * come.
 */
async function hold(count: number, port: number, localAddress = '127.0.0.1') {
  const opened = Array.from({ length: count }, () => {
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => {}).resume();
    closings.push(() => socket.destroy());
    return socket;
  });
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  return opened;
}

/** An https visit from this address. */
function visit(localAddress: string) {
  const request = edge.openHttps({ hostname, headers: { connection: 'close' }, localAddress });
  return new Promise<number | string>((resolve) => {
    request.on('response', (response) => resolve(response.resume().statusCode ?? 0));
    request.on('error', ({ message }) => resolve(message));
    request.end();
  });
}
const cutOff = expect.stringMatching(/disconnected|ECONNRESET|hang up/);

describe('An address with 300 connections', () => {
  it('gets no more at either port while another address is served', async () => {
    await start();
    const { httpPort, httpsPort } = edge.ports;
    const held = await hold(200, httpsPort);
    expect(await visit('127.0.0.2')).toBe(200); // they queue, so all of them are accepted by now
    held.push(...(await hold(100, httpPort)));
    const [over] = await hold(1, httpPort);
    if (over && !over.destroyed) await once(over, 'close');
    expect(await visit('127.0.0.1')).toEqual(cutOff);
    expect(await visit('127.0.0.2')).toBe(200);
    expect(held.filter(({ readyState }) => readyState === 'open')).toHaveLength(perAddress);
  });

  it('gets another one after it closes one', async () => {
    await start();
    const [first] = await hold(perAddress, edge.ports.httpsPort);
    expect(await visit('127.0.0.1')).toEqual(cutOff);
    first?.end();
    // The edge notices the close later, so a rejected visitor retries.
    let answer: unknown;
    do answer = await visit('127.0.0.1');
    while (answer !== 200);
    expect(answer).toBe(200);
  });

  it('is logged once, not per connection', async () => {
    await start();
    await hold(perAddress, edge.ports.httpsPort);
    expect(await visit('127.0.0.1')).toEqual(cutOff);
    expect(await visit('127.0.0.1')).toEqual(cutOff);
    expect(edge.warnings).toEqual([expect.objectContaining({ address: '127.0.0.1' })]);
  });

  it('can open more if it is a trusted load balancer', async () => {
    await start(['127.0.0.1']);
    await hold(perAddress, edge.ports.httpsPort);
    expect(await visit('127.0.0.1')).toBe(200);
    await hold(perAddress, edge.ports.httpsPort, '127.0.0.2');
    expect(await visit('127.0.0.2')).toEqual(cutOff);
  });
});
