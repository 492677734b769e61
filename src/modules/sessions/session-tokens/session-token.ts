import { hash, randomBytes } from 'node:crypto';

/** What a token looks like: `svs_<session>_<secret>`. The session finds the row, the secret has 192 bits. */
const TOKEN = /^svs_([0-9a-z]{1,11})_[A-Za-z0-9_-]{32}$/;

export interface MintedToken {
  /** Given to the process and kept nowhere. */
  readonly token: string;
  /** For `sessions.token_hash`. */
  readonly hash: Buffer;
}

export function newSessionToken(sessionPk: number): MintedToken {
  const token = `svs_${sessionPk.toString(36)}_${randomBytes(24).toString('base64url')}`;
  return { token, hash: sessionTokenHash(token) };
}

/** The session that a well-formed token is of. */
export function sessionOfToken(token: string): number | undefined {
  const text = TOKEN.exec(token)?.[1];
  const pk = text === undefined ? NaN : Number.parseInt(text, 36);
  return Number.isSafeInteger(pk) ? pk : undefined;
}

/** A fast hash will do: the secret is random, there is nothing to guess. */
export function sessionTokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
