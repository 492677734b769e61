import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a key looks like: `svc_<id>_<secret>`. The id is public and finds the row, the secret has 192 bits. */
const TOKEN = /^svc_([0-9a-f]{12})_[A-Za-z0-9_-]{32}$/;

export interface NewToken {
  readonly id: string;
  readonly token: string;
}

export function newToken(id = randomBytes(6).toString('hex')): NewToken {
  return { id, token: `svc_${id}_${randomBytes(24).toString('base64url')}` };
}

/** The id inside a well-formed token, or undefined. */
export function tokenId(token: string): string | undefined {
  return TOKEN.exec(token)?.[1];
}

/** The stored form. A fast hash is enough, as the secret is random and cannot be guessed. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
