import { expect, it } from '@jest/globals';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { distrust } from './trust.js';

it('says of a certificate for another name how to call the server', () => {
  const target = { url: 'https://127.0.0.1:8372', key: undefined, source: '', keySource: undefined };
  const said = (host: string): string | undefined =>
    distrust(target.url, { cause: checkServerIdentity(host, { subjectaltname: 'DNS:svc.example.com' } as PeerCertificate) });
  const how = 'call the server as it is named there, with --api https://NAME:PORT or SVC_API_URL';
  // Its names are no addresses, so the list of those is empty.
  expect(said('127.0.0.1')).toMatch(/^the certificate of https:\/\/127\.0\.0\.1:8372 is for another name: .* list; /);
  expect(said('127.0.0.1')!.endsWith(how)).toBe(true);
  expect(said('localhost')).toContain(`altnames: DNS:svc.example.com; ${how}`);
});
