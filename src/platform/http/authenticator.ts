import type { Principal } from '../../contract/principal.js';

/**
 * Who may come in with which key. The room of the keys implements it (this room knows no tables); the root module
 * binds it under this class as the token. Keys count with `SVC_AUTH=keys` only, tokens of sessions always.
 */
export abstract class Authenticator {
  /** The caller behind a bearer token, or undefined for a token that is unknown, malformed or revoked. Synchronous when cached. */
  abstract authenticate(token: string): Principal | undefined | Promise<Principal | undefined>;
  /**
   * False once what was shown is no longer good; at most a few seconds late. Open streams ask again and again.
   *
   * @param credential of a principal
   */
  abstract stillValid(credential: string): boolean | Promise<boolean>;
}

/** Names what was shown: whoever has a new secret, or another process, shows something else. @param hash of what was shown */
export function credentialNamed(keyId: string, hash: Buffer): string {
  return `${keyId}.${hash.toString('hex', 0, 8)}`;
}

/** Whose it is. */
export function keyIdOf(credential: string): string {
  return credential.split('.')[0]!;
}

/** What a request asks for, before anything has checked its shape. */
export interface Asked {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** What callers may change that act for themselves only. Bound under this class; without one they may change nothing. */
export abstract class SessionPolicy {
  /** Whether a session, or an adapter, may use an operation at all; asked before the body is read. Sessions may read. */
  abstract admits(operation: string, caller: Principal): boolean;
  /** Why a session may not do just this, in words for it; undefined when it may. */
  abstract refusal(caller: Principal, operation: string, asked: Asked): Promise<string | undefined>;
}

/** How keys begin. */
export const KEY_PREFIX = 'svc_';

/** How tokens of sessions begin. */
export const SESSION_TOKEN_PREFIX = 'svs_';

/** How those of adapters begin, which speak for an account elsewhere. */
export const ADAPTER_TOKEN_PREFIX = 'sva_';

/** How those of commands begin that are run for a city without a session: of orders, and scripts of checks. */
export const COMMAND_TOKEN_PREFIX = 'svo_';
