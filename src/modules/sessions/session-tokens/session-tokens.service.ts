import { Injectable } from '@nestjs/common';
import { newCommandToken, type CommandRow } from './command-token.js';
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

  /** For one command: whoever carries it out stores the hash in the `token_hash` of its row. It is good while that one has the lease. */
  mintCommand(command: CommandRow): MintedToken {
    return newCommandToken(command);
  }
}
