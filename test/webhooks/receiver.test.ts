import { describe, expect, it } from 'vitest';
import { addressesOf, isOwn, isPublic, urlProblem } from '../../src/net/destination.ts';

const production = { allowPrivate: false };
const testLab = { allowPrivate: true };

describe('The URL of a webhook', () => {
  it.each([
    'https://hooks.example.com',
    'https://hooks.example.com:8443/a/b?token=x',
    'https://93.184.216.34/',
    'https://[2606:2800:220:1::1]/',
    'https://münchen.example/',
  ])('can be %s', (url) => {
    expect(urlProblem(url, production)).toBeNull();
  });

  const refused: readonly (readonly [url: string, words: string])[] = [
    ['hooks.example.com', 'must be a URL'],
    ['https://', 'must be a URL'],
    ['http://hooks.example.com/', 'must be an https URL'],
    ['ftp://hooks.example.com/', 'must be an https URL'],
    ['file:///etc/passwd', 'must be an https URL'],
    ['https://user@hooks.example.com/', 'must not contain credentials'],
    ['https://:secret@hooks.example.com/', 'must not contain credentials'],
    ['https://hooks.example.com/#here', 'must not have a fragment'],
    ['https://hooks.example.com/#', 'must not have a fragment'],
    ...[
      'localhost',
      'api.localhost',
      'LOCALHOST.',
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '0.0.0.0',
      '10.0.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '[::]',
      '[::1]',
      '[fe80::1]',
      '[fd00:ec2::254]',
      '[::ffff:127.0.0.1]',
      '[::ffff:a9fe:a9fe]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::1]',
      '[2002:7f00:1::]',
      '[2001:0:1::1]',
      '[ff02::1]',
      '168.63.129.16',
    ].map((host) => [`https://${host}/`, 'must not point to a private network'] as const),
  ];
  const ports = [22, 25, 80, 442, 444, 1023];
  it.each(ports)('cannot have the port %d, except in a test lab', (port) => {
    const url = `https://hooks.example.com:${port}/`;
    expect(urlProblem(url, production)).toBe('must use port 443, or 1024 or higher');
    expect(urlProblem(url, testLab)).toBeNull();
  });

  it.each([443, 1024, 8443, 65535])('can have the port %d', (port) => {
    expect(urlProblem(`https://hooks.example.com:${port}/`, production)).toBeNull();
  });

  it.each(refused)('cannot be %s', (url, words) => {
    expect(urlProblem(url, production)).toBe(words);
  });

  it('can be any http URL without credentials in a test lab', () => {
    expect(urlProblem('http://127.0.0.1:3000/', testLab)).toBeNull();
    expect(urlProblem('http://localhost:3000/', testLab)).toBeNull();
    expect(urlProblem('http://a:b@localhost/', testLab)).toBe('must not contain credentials');
  });
});

describe('The addresses of a receiver', () => {
  const never = () => Promise.reject(new Error('was asked'));

  it('are blocked in any notation if the platform or this machine has them', () => {
    const platform = ['93.184.216.34', '2606:2800:220:1::1'];
    for (const own of [...platform, '2606:2800:220:1:0:0:0:1', '127.0.0.1']) {
      expect(isOwn(own, platform)).toBe(true);
    }
    expect(isOwn('93.184.216.34', [])).toBe(false);
    expect(isOwn('93.184.216.35', platform)).toBe(false);
  });

  it('are looked up once, except for IP addresses and loopback names', async () => {
    const found = [{ address: '93.184.216.34', family: 4 }];
    const url = new URL('https://hooks.example.com/');
    expect(await addressesOf(url, async () => found)).toEqual(found);
    const [literal] = await addressesOf(new URL('https://[2606:2800::1]/'), never);
    expect(literal).toEqual({ address: '2606:2800::1', family: 6 });
    const [local] = await addressesOf(new URL('http://api.localhost/'), never);
    expect(isPublic(local?.address ?? '')).toBe(false);
  });
});
