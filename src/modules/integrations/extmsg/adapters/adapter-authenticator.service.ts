import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { Db } from '../../../../platform/database/database.js';
import { GatheredReads } from '../../../../platform/database/gathered-reads.js';
import { adapterCredential, adapterKeyId, adapterOfToken, adapterTokenHash, ofAdapterCredential } from './adapter-token.js';
import { AdaptersRepository, type AdapterCaller } from './adapters.repository.js';

/** Knows adapters by their tokens: read each time, so that one that is unregistered, or has a new secret, is nobody at once. */
@Injectable()
export class AdapterAuthenticator {
  readonly #callers = new GatheredReads<number, AdapterCaller>(async (pks) =>
    (await this.repository.callers(this.db, pks)).map((row) => [row.pk, row] as const),
  );

  constructor(
    private readonly db: Db,
    private readonly repository: AdaptersRepository,
  ) {}

  async authenticate(token: string): Promise<Principal | undefined> {
    const pk = adapterOfToken(token);
    const found = pk === undefined ? undefined : await this.#callers.read(pk);
    if (found === undefined || !found.hash.equals(adapterTokenHash(token))) return undefined;
    const { provider, account_id: accountId, city, version } = found;
    return {
      actor: `adapter:${provider}/${accountId}`,
      keyId: adapterKeyId(pk!),
      credential: adapterCredential({ pk: pk!, version }),
      scope: 'read',
      rights: ['operate', 'configure'],
      cities: [city],
      adapter: { pk: pk!, provider, accountId },
    };
  }

  /**
   * A stream may have been opened while the adapter was given another token: it was let in by the one before. Those of all adapters are asked
   * for at once.
   */
  async stillValid(credential: string): Promise<boolean> {
    const shown = ofAdapterCredential(credential);
    return shown !== undefined && (await this.#callers.read(shown.pk))?.version === shown.version;
  }
}
