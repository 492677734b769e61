import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { credentialNamed, keyIdOf } from '../../../platform/http/authenticator.js';
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
    const found = command === undefined ? undefined : await this.repository.caller(command);
    if (found?.hash.equals(sessionTokenHash(token)) !== true) return undefined;
    const keyId = commandKeyId(command!);
    const credential = credentialNamed(keyId, found.hash);
    return { actor: found.actor, keyId, credential, scope: 'read', rights: ['operate'], cities: [found.city], command: true };
  }

  /** Whether the command is still carried out by the one whose token this was. */
  async stillValid(credential: string): Promise<boolean> {
    const keyId = keyIdOf(credential);
    const command = commandOfKeyId(keyId);
    const found = command === undefined ? undefined : await this.repository.caller(command);
    return found !== undefined && credentialNamed(keyId, found.hash) === credential;
  }
}
