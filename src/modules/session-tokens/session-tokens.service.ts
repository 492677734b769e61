import { Injectable } from '@nestjs/common';
import { newSessionToken, type MintedToken } from './session-token.js';

/** Makes the tokens with which agents' processes call the API as their own session, and as nobody else. */
@Injectable()
export class SessionTokens {
  /**
   * For one process of a session: the transaction of its `start` stores the hash in `token_hash`, the process gets the
   * token. It is good while the session has this process.
   */
  mint({ pk }: { readonly pk: number }): MintedToken {
    return newSessionToken(pk);
  }
}
