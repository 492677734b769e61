import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { workRealm, type WorkRealm } from '../../../../test/support/work.js';
import { ConvoyNotices } from './convoy-notices.js';
import { MailAddresses } from './mail-addresses.service.js';
import { MailSendingService } from './mail-sending.service.js';
import { MailRepository } from './mail.repository.js';

let realm: WorkRealm;
beforeEach(async () => {
  realm = await workRealm();
  const addresses = new MailAddresses(new RosterService(new RosterRepository(realm.db)));
  const sending = new MailSendingService(realm.work, addresses, new MailRepository(), new Idempotency(new IdempotencyRepository()));
  new ConvoyNotices(realm.work, sending, new AppLogger(createLogger('silent'))).onModuleInit();
});
afterEach(() => realm.close());

/** A convoy with one member, which is then closed. Answers what happened from then on. */
async function closeMember(notify?: string): Promise<{ type: string; message: string | null; payload: Record<string, unknown> }[]> {
  const { value: member } = await realm.work.run(realm.city, 'tester', async (work) => {
    const bead = await work.create({ rig: '', title: 'work' });
    const metadata: Record<string, string> = notify === undefined ? {} : { 'convoy.notify': notify };
    const convoy = await work.create({ rig: '', title: 'ship it', type: 'convoy', metadata });
    await work.putEdge({ issue_id: convoy.id, depends_on_id: bead.id, type: 'tracks' });
    return bead.id;
  });
  const before = (await realm.events()).length;
  await realm.work.run(realm.city, 'closer', (work) => work.close(member));
  return realm.events(before);
}

it('tells whom the convoy names, in the transaction that closes it', async () => {
  const events = await closeMember('deacon');
  expect(events.map((e) => e.type)).toEqual(['bead.closed', 'bead.closed', 'convoy.closed', 'mail.sent']);
  expect(events[3]).toMatchObject({
    message: 'deacon',
    payload: { message: { to: 'deacon', from: 'closer', subject: 'Convoy al-2 closed: ship it' } },
  });
});

it('closes all the same when nobody is to be told, or nobody is known by that name', async () => {
  for (const notify of [undefined, 'nobody'])
    expect((await closeMember(notify)).map((e) => e.type)).toEqual(['bead.closed', 'bead.closed', 'convoy.closed']);
});
