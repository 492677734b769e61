import { createHmac, hash } from 'node:crypto';
import { ADAPTER_TOKEN_PREFIX } from '../../../../platform/http/authenticator.js';

/** `sva_<adapter>_<secret>`: the row is found by its number, the secret has 192 bits. */
const TOKEN = /^sva_([0-9a-z]{1,11})_[A-Za-z0-9_-]{32}$/;

/** What an adapter is given when it is registered. Both are made from the deployment's secret, so nothing of them is stored in the clear. */
export interface AdapterCredentials {
  /** With it the adapter calls us. */
  readonly token: string;
  /** With it our calls to the adapter are signed. */
  readonly secret: string;
}

export function credentialsOf(deploymentSecret: Buffer, pk: number, version: number): AdapterCredentials {
  const made = (use: string): string =>
    createHmac('sha256', deploymentSecret).update(`extmsg adapter ${use} ${pk} ${version}`).digest('base64url');
  return { token: `${ADAPTER_TOKEN_PREFIX}${pk.toString(36)}_${made('token').slice(0, 32)}`, secret: `svx_${made('callback')}` };
}

/** The adapter that a well-formed token is of. */
export function adapterOfToken(token: string): number | undefined {
  const pk = Number.parseInt(TOKEN.exec(token)?.[1] ?? '', 36);
  return Number.isSafeInteger(pk) ? pk : undefined;
}

export const adapterTokenHash = (token: string): Buffer => hash('sha256', token, 'buffer');

export const adapterKeyId = (pk: number): string => `${ADAPTER_TOKEN_PREFIX}${pk}`;

/** What an adapter has shown: with a new secret it is another. */
export interface AdapterCredential {
  readonly pk: number;
  readonly version: number;
}

export const adapterCredential = ({ pk, version }: AdapterCredential): string => `${adapterKeyId(pk)}.${version}`;

export function ofAdapterCredential(credential: string): AdapterCredential | undefined {
  const [, pk, version] = /^sva_(\d{1,15})\.(\d{1,9})$/.exec(credential) ?? [];
  return pk === undefined ? undefined : { pk: Number(pk), version: Number(version) };
}
