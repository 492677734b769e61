import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ConvoyNotices } from './convoy-notices.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailRepository } from './mail.repository.js';

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
  const addresses = new MailAddresses(new RosterService(new RosterRepository(fixture.db)));
  const sending = new MailSendingService(fixture.work, addresses, new MailRepository(), new Idempotency(new IdempotencyRepository()));
  new ConvoyNotices(fixture.work, sending, new AppLogger(createLogger('silent'))).onModuleInit();
});
afterEach(() => fixture.close());

/** A convoy with one member, which is then closed. Answers what happened from then on. */
async function closeMember(notify?: string): Promise<{ type: string; message: string | null; payload: Record<string, unknown> }[]> {
  const { value: member } = await fixture.work.run(fixture.city, 'tester', async (work) => {
    const bead = await work.create({ rig: '', title: 'work' });
    const metadata: Record<string, string> = notify === undefined ? {} : { 'convoy.notify': notify };
    const convoy = await work.create({ rig: '', title: 'ship it', type: 'convoy', metadata });
    await work.putEdge({ issue_id: convoy.id, depends_on_id: bead.id, type: 'tracks' });
    return bead.id;
  });
  const before = (await fixture.events()).length;
  await fixture.work.run(fixture.city, 'closer', (work) => work.close(member));
  return fixture.events(before);
}

it('tells whom the convoy names, in the transaction that closes it', async () => {
  const events = await closeMember('deacon');
  expect(events.map((e) => e.type)).toEqual(['bead.closed', 'bead.closed', 'convoy.closed', 'mail.sent']);
  expect(events[3]).toMatchObject({
    message: 'deacon',
    payload: { message: { to: 'deacon', from: 'reconciler', subject: 'Convoy al-2 closed: ship it' } },
  });
});

it('closes all the same when nobody is to be told, or nobody is known by that name', async () => {
  for (const notify of [undefined, 'nobody'])
    expect((await closeMember(notify)).map((e) => e.type)).toEqual(['bead.closed', 'bead.closed', 'convoy.closed']);
});
