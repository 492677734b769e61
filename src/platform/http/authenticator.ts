import type { Principal } from '../../contract/principal.js';

/**
 * Who may come in with which key. The room of the keys implements it (this room knows no tables); the root module
 * binds it under this class as the token. Asked only with `SVC_AUTH=keys`.
 */
export abstract class Authenticator {
  /** The caller behind a bearer token, or undefined for a token that is unknown, malformed or revoked. Synchronous when cached. */
  abstract authenticate(token: string): Principal | undefined | Promise<Principal | undefined>;
  /** False once a key is revoked; at most a few seconds late. Open streams ask again and again. */
  abstract stillValid(keyId: string): boolean | Promise<boolean>;
}
