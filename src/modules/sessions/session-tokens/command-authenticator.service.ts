import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { CommandCallersRepository } from './command-callers.repository.js';
import { commandKeyId, commandOfKeyId, commandOfToken } from './command-token.js';
import { sessionTokenHash } from './session-token.js';

/**
 * Knows commands of orders and scripts of checks by their tokens. Who says what a city runs could have its agents do all of this, so they
 * may what is done in a city as it is set up, and neither set it up nor say what is run.
 */
@Injectable()
export class CommandAuthenticator {
  constructor(private readonly repository: CommandCallersRepository) {}

  async authenticate(token: string): Promise<Principal | undefined> {
    const command = commandOfToken(token);
    const found = command === undefined ? undefined : await this.repository.find(command, sessionTokenHash(token));
    if (found === undefined) return undefined;
    return { actor: found.actor, keyId: commandKeyId(command!), scope: 'read', rights: ['operate'], cities: [found.city] };
  }

  /** Whether the command that `keyId` names is carried out still. */
  async stillValid(keyId: string): Promise<boolean> {
    const command = commandOfKeyId(keyId);
    return command !== undefined && (await this.repository.isLive(command));
  }
}
