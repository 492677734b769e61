import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { irregular } from '../support/event-lines.js';
import { removeFolders } from '../support/folders.js';
import { allEvents, CITY, city, commits, twentyBeads } from '../support/script-agents.js';
import { User } from '../support/user.js';

/** A repository, a pool of script agents with a wrong command at first, twenty beads in a convoy, a restart in the middle. */
describe('the working day', () => {
  let user: User;
  beforeAll(async () => {
    user = await User.arrive();
    await user.start();
  });
  afterAll(async () => {
    await user.leave();
    await removeFolders();
  });

  it('ends with every bead done once and the convoy closed', async () => {
    await city(user, './hnad.sh');
    const { beads, convoy } = await twentyBeads(user);
    expect(await user.run(`svc sling hand --convoy ${convoy}`)).toMatch(/slung/);

    // The command does not exist. Once it is mended, the members of the pool start by themselves.
    await user.sees('svc session list', /failed-create/);
    await user.sees('svc agent list', /rests until .*hnad\.sh/);
    await user.run(`svc provider update hands --command ./hand.sh`);
    await writeFile(join(user.dir, CITY, 'hold'), '');
    await user.sees(`ls ${CITY}`, /taken-/);

    // A new version of the server is put in while they work.
    await user.stop();
    await user.start();
    await user.run(`rm ${CITY}/hold`);

    await user.sees(`svc convoy show ${convoy}`, /status: +closed/);
    expect((await user.run('svc bead list --all --json')).match(/"status":"closed"/g)?.length).toBeGreaterThanOrEqual(beads.length);
    expect((await commits(user)).sort()).toEqual(beads.map((id) => `feat: ${id}`).sort());

    const events = await allEvents(user);
    expect(irregular(events)).toEqual([]);
    const closed = events.filter(({ type }) => type === 'bead.closed').map(({ subject }) => subject);
    for (const id of beads) expect([id, closed.filter((subject) => subject === id).length]).toEqual([id, 1]);
    expect(events.filter(({ type, subject }) => type === 'convoy.closed' && subject === convoy)).toHaveLength(1);
  });
});
