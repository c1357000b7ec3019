/** The certificates of every contender: a P-256 key and a leaf for each name, all issued by one root. */

import { createHash, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { signLeaf, signRoot } from '../../src/certificates/authorities/sign.ts';
import {
  generatePrivateKey,
  privateKeyToPem,
  publicKeyInfo,
} from '../../src/certificates/vault/keys.ts';
import { DAY } from '../../src/core/time.ts';
import { hostnameOf } from './settings.ts';

export type SiteCertificate = {
  readonly hostname: string;
  /** Both in PEM. */
  readonly chain: string;
  readonly key: string;
};

export type Certificates = {
  /** PEM. */
  readonly root: string;
  readonly sites: readonly SiteCertificate[];
  readonly notBefore: Date;
  readonly notAfter: Date;
};

/** The uncompressed point at the end of a P-256 key's SubjectPublicKeyInfo. */
const POINT_OCTETS = 65;
/** SEQUENCE with two length octets, for contents over 255 octets. */
const HEADER_OCTETS = 4;
/** SEQUENCE of only ecdsa-with-SHA256. */
const ALGORITHM_OCTETS = 12;

export async function makeCertificates(count: number): Promise<Certificates> {
  const notBefore = new Date(Date.now() - 60_000);
  const notAfter = new Date(notBefore.getTime() + 90 * DAY);
  const [rootKey, firstKey] = [generatePrivateKey(), generatePrivateKey()];
  const validity = { notBefore, notAfter };
  const root = await signRoot({ commonName: 'The root of a bench', key: rootKey, ...validity });
  const first = await signLeaf(
    { hostname: hostnameOf(0), key: firstKey, ...validity },
    { certificate: root, key: rootKey },
  );
  const further = copier(first, firstKey, rootKey);
  const sites = Array.from({ length: count }, (_, index) => {
    const key = generatePrivateKey();
    return { hostname: hostnameOf(index), chain: further(index, key), key: privateKeyToPem(key) };
  });
  return { root, sites, notBefore, notAfter };
}

/** Copies the first leaf and replaces name, key and serial number, which is many times faster. */
function copier(first: string, firstKey: KeyObject, rootKey: KeyObject) {
  const { raw, serialNumber } = new X509Certificate(first);
  const signed = raw.subarray(HEADER_OCTETS, 2 * HEADER_OCTETS + raw.readUInt16BE(6));
  const algorithm = raw.subarray(
    HEADER_OCTETS + signed.length,
    HEADER_OCTETS + signed.length + ALGORITHM_OCTETS,
  );
  const places = {
    serial: placeOf(signed, Buffer.from(serialNumber, 'hex')),
    name: placeOf(signed, Buffer.from(hostnameOf(0))),
    point: placeOf(signed, pointOf(firstKey)),
    identifier: placeOf(signed, identifierOf(firstKey)),
  };
  return (index: number, key: KeyObject): string => {
    const content = Buffer.from(signed);
    content.writeUInt32BE(index, places.serial + 1);
    content.write(hostnameOf(index), places.name);
    pointOf(key).copy(content, places.point);
    identifierOf(key).copy(content, places.identifier);
    const signature = sign('sha256', content, rootKey);
    const bits = Buffer.concat([Buffer.of(0x03, signature.length + 1, 0), signature]);
    const body = Buffer.concat([content, algorithm, bits]);
    const header = Buffer.of(0x30, 0x82, body.length >> 8, body.length & 0xff);
    return new X509Certificate(Buffer.concat([header, body])).toString();
  };
}

function placeOf(content: Buffer, part: Buffer): number {
  const place = content.indexOf(part);
  if (place === -1) throw new Error('the first leaf is not made as it was');
  return place;
}

function pointOf(key: KeyObject): Buffer {
  return publicKeyInfo(key).subarray(-POINT_OCTETS);
}

/** RFC 5280, 4.2.1.2, method 1. */
function identifierOf(key: KeyObject): Buffer {
  return createHash('sha1').update(pointOf(key)).digest();
}
