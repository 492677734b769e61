import { randomBytes } from 'node:crypto';
import { COMMAND_TOKEN_PREFIX } from '../../../platform/http/authenticator.js';
import { sessionTokenHash, type MintedToken } from './session-token.js';

/** What a command is run for. */
export type CommandKind = 'firing' | 'check';

/** `svo_<f or c><row>_<secret>`: the row is found by its number, the secret has 192 bits. */
const TOKEN = /^svo_([fc])([0-9a-z]{1,11})_[A-Za-z0-9_-]{32}$/;
const KEY_ID = /^svo_([fc])(\d{1,15})$/;
const KINDS: Readonly<Record<string, CommandKind>> = { f: 'firing', c: 'check' };

export interface CommandRow {
  readonly kind: CommandKind;
  readonly pk: number;
}

export function newCommandToken({ kind, pk }: CommandRow): MintedToken {
  const token = `${COMMAND_TOKEN_PREFIX}${kind[0]}${pk.toString(36)}_${randomBytes(24).toString('base64url')}`;
  return { token, hash: sessionTokenHash(token) };
}

/** The row that a well-formed token is of. */
export function commandOfToken(token: string): CommandRow | undefined {
  const [, kind = '', text = ''] = TOKEN.exec(token) ?? [];
  const pk = Number.parseInt(text, 36);
  return Number.isSafeInteger(pk) ? { kind: KINDS[kind]!, pk } : undefined;
}

export const commandKeyId = ({ kind, pk }: CommandRow): string => `${COMMAND_TOKEN_PREFIX}${kind[0]}${pk}`;

export function commandOfKeyId(keyId: string): CommandRow | undefined {
  const [, kind = '', pk = ''] = KEY_ID.exec(keyId) ?? [];
  return pk === '' ? undefined : { kind: KINDS[kind]!, pk: Number(pk) };
}
