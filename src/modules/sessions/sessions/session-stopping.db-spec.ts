import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import type { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { SessionStopping } from './session-stopping.service.js';

let fixture: SessionFixture;
beforeEach(async () => {
  fixture = await sessionFixture();
});
afterEach(() => fixture.stop());

/** Drained by that caller; what is known of it afterwards. */
async function drained(session: SessionRow, caller: Principal): Promise<SessionRow> {
  const resolver = { resolve: () => Promise.resolve(session) } as unknown as SessionResolver;
  const config = { known: () => Promise.resolve(undefined) } as unknown as ConfigReadsService;
  const stopping = new SessionStopping(resolver, fixture.a.sessions, {} as never, {} as never, config, {} as never);
  await stopping.drain(fixture.city, session.id, caller);
  return fixture.row(session.pk);
}

describe('a drain', () => {
  it('says when the session has asked for it itself, and nobody else has', async () => {
    const its = (session: SessionRow): Principal => ({ ...ANYBODY, session: { id: session.id } as Principal['session'] });
    const [own, other] = [await fixture.session(), await fixture.session()];
    const after = await drained(own, its(own));
    expect(after).toMatchObject({ state: 'draining', stop_reason: 'drained', metadata: { drained_itself: expect.any(String) } });
    expect((await drained(other, its(own))).metadata).toEqual({});
    await fixture.set(own.pk, { state: 'active', stop_request: null });
    expect((await drained(own, ANYBODY)).metadata).toEqual({});
  });
});
