import { expect, it } from '@jest/globals';
import { Answering } from '../../../platform/disk/answering.js';
import { sleep } from '../../../platform/time/clock.js';
import type { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import type { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import type { RosterService } from '../../configuration/roster/roster.service.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { RigGit } from './rig-git.js';
import type { RigPlaces } from './rig-places.js';
import { RigReadsService } from './rig-reads.service.js';
import type { RigsRepository } from './rigs.repository.js';

const CLEAN = { branch: 'main', clean: true, changed_files: 0, ahead: 0, behind: 0 };
const NEVER = new Promise<never>(() => undefined);
const city = { name: 'alpha', path: '/cities/alpha', streamId: 1 } as unknown as CityScope;

interface Reads {
  readonly reads: RigReadsService;
  readonly asked: string[];
  readonly told: (of?: CityScope) => Promise<unknown[]>;
}

/** Of rigs whose directories are looked up so. */
function readsOf(ofRig: (written: string) => Promise<string>, names = ['slow', 'one']): Reads {
  const rig = (name: string): object => ({ name, path: `rigs/${name}`, prefix: name });
  const current = { config: { agents: [], rigs: names.map(rig) }, revision: 1, index: 1 };
  const asked: string[] = [];
  const places = {
    ofRig: (written: string) => {
      asked.push(written);
      return ofRig(written);
    },
  };
  const reads = new RigReadsService(
    places as unknown as RigPlaces,
    { current: () => Promise.resolve(current) } as unknown as ConfigReadsService,
    { rigs: () => Promise.resolve([]), switches: () => Promise.resolve({ rigs: new Map() }) } as unknown as RosterService,
    {
      activity: () => Promise.resolve({ head: 1, newest: new Map() }),
      bearers: () => Promise.resolve([]),
    } as unknown as RigsRepository,
    { status: () => Promise.resolve(CLEAN) } as unknown as RigGit,
    { readAgain: () => Promise.resolve(false) } as unknown as HeadWaiter,
  );
  reads.gitMs = 300;
  const told = async (of = city): Promise<unknown[]> => {
    const { body } = await reads.list(of, { git: true, limit: 10 } as never, new AbortController().signal);
    return body.items.map(({ name, git }) => [name, git]);
  };
  return { reads, asked, told };
}

// Guard: `answers` says false of a disk that hangs, and the rig's files would keep a thread of the process for ever.
it('does not ask git of a rig whose disk does not answer', async () => {
  const { reads, asked, told } = readsOf((written) => Promise.resolve(`/cities/alpha/${written}`));
  reads.answering = new Answering();
  reads.answering.mountOf = (folder) => ({ at: folder, disk: folder, isRemote: true, isLocal: false });
  reads.answering.ask = (mount) => (mount.endsWith('slow') ? NEVER : Promise.resolve());
  expect(await told()).toEqual([
    ['slow', undefined],
    ['one', CLEAN],
  ]);
  expect(asked).toEqual(['rigs/one']);
});

// Guards: the request, and a thread more with each one, would hang.
it('waits for no rig that lies behind a link to a disk that does not answer, and looks at it once', async () => {
  const { asked, told } = readsOf((written) => (written.endsWith('slow') ? NEVER : Promise.resolve(written)));
  for (let n = 0; n < 2; n++)
    expect(await told()).toEqual([
      ['slow', undefined],
      ['one', CLEAN],
    ]);
  expect(asked.filter((written) => written.endsWith('slow'))).toHaveLength(1);
});

// Guard: each of them would keep a thread.
it('looks at a rig once for all who ask at the same time, and for each city anew', async () => {
  const { asked, told } = readsOf((written) => (written.endsWith('slow') ? NEVER : Promise.resolve(written)));
  const other = { ...city, name: 'beta' } as CityScope;
  const answers = await Promise.all([told(), told(), told(), told(other)]);
  for (const answer of answers)
    expect(answer).toEqual([
      ['slow', undefined],
      ['one', CLEAN],
    ]);
  expect(asked.filter((written) => written.endsWith('slow'))).toHaveLength(2);
});

// Guard: a process has few threads for files, and sign-ins at the database need them as well.
it('looks at no rig while four that were looked at have not answered', async () => {
  const waiting: (() => void)[] = [];
  let isSilent = true;
  const slow = Array.from({ length: 5 }, (_, n) => `slow${n}`);
  const ofRig = (written: string): Promise<string> =>
    written.includes('slow') && isSilent ? new Promise((resolve) => void waiting.push(() => resolve(written))) : Promise.resolve(written);
  const { asked, told } = readsOf(ofRig, [...slow, 'one']);
  const nothing = [...slow, 'one'].map((name) => [name, undefined]);
  for (let n = 0; n < 3; n++) expect(await told()).toEqual(nothing);
  expect(asked).toHaveLength(4);
  isSilent = false;
  for (const answer of waiting) answer();
  expect(await told()).toEqual([...slow, 'one'].map((name) => [name, CLEAN]));
});

// Guard: those that are in time yet may be late together, for all cities that are asked at the same time.
it('looks at eight rigs at a time at the most, whichever cities they are of', async () => {
  const names = ['slow0', 'slow1', 'slow2', 'slow3'];
  const cities = Array.from({ length: 10 }, (_, n) => ({ ...city, name: `city${n}` }) as CityScope);
  const { asked, told } = readsOf(() => NEVER, names);
  await Promise.all(cities.map((one) => told(one)));
  await told();
  expect(asked).toHaveLength(8);
});

it('looks at all rigs of many cities, a few at a time', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const cities = Array.from({ length: 10 }, (_, n) => ({ ...city, name: `city${n}` }) as CityScope);
  let at = 0;
  let most = 0;
  const { reads, told } = readsOf(async (written) => {
    most = Math.max(most, ++at);
    await sleep(5);
    at--;
    return written;
  }, names);
  // None is to be late here, on however busy a machine.
  reads.gitMs = 60_000;
  const answers = await Promise.all(cities.map((one) => told(one)));
  expect(answers.flat()).toEqual(cities.flatMap(() => names.map((name) => [name, CLEAN])));
  expect(most).toBe(8);
});
