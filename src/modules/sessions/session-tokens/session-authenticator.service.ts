import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { credentialNamed, keyIdOf, SESSION_TOKEN_PREFIX } from '../../../platform/http/authenticator.js';
import { actingName } from '../launch/acting-name.js';
import { sessionOfToken, sessionTokenHash } from './session-token.js';
import { SessionCallersRepository } from './session-callers.repository.js';

/** Knows sessions by their tokens: read each time, so that a process that was replaced is nobody at once. */
@Injectable()
export class SessionAuthenticator {
  constructor(private readonly repository: SessionCallersRepository) {}

  async authenticate(token: string): Promise<Principal | undefined> {
    const pk = sessionOfToken(token);
    const row = pk === undefined ? undefined : await this.repository.caller(pk);
    if (row?.hash.equals(sessionTokenHash(token)) !== true) return undefined;
    const { id, city, stream_id: streamId, session_name, alias } = row;
    const agentName = actingName(row);
    const names = [...new Set([id, session_name, alias, agentName])].filter((name) => name !== '');
    const session = { id, pk: row.pk, city, streamId, agentName, names };
    const keyId = `${SESSION_TOKEN_PREFIX}${row.pk}`;
    return { actor: agentName, keyId, credential: credentialNamed(keyId, row.hash), scope: 'write', cities: [city], session };
  }

  /** Whether the session still has the process whose token this was. */
  async stillValid(credential: string): Promise<boolean> {
    const keyId = keyIdOf(credential);
    const pk = Number(keyId.slice(SESSION_TOKEN_PREFIX.length));
    const row = Number.isSafeInteger(pk) ? await this.repository.caller(pk) : undefined;
    return row !== undefined && credentialNamed(keyId, row.hash) === credential;
  }
}
