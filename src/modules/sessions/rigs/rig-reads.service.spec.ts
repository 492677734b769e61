import { expect, it } from '@jest/globals';
import { Answering } from '../../../platform/disk/answering.js';
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

/** Of two rigs, whose directories are looked up so. */
function readsOf(ofRig: (written: string) => Promise<string>): { reads: RigReadsService; asked: string[]; told: () => Promise<unknown[]> } {
  const rig = (name: string): object => ({ name, path: `rigs/${name}`, prefix: name });
  const current = { config: { agents: [], rigs: [rig('slow'), rig('one')] }, revision: 1, index: 1 };
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
  const told = async (): Promise<unknown[]> => {
    const { body } = await reads.list(city, { git: true, limit: 10 } as never, new AbortController().signal);
    return body.items.map(({ name, git }) => [name, git]);
  };
  return { reads, asked, told };
}

// Guard: `answers` says false of a disk that hangs, and the rig's files would keep a thread of the process for ever.
it('does not ask git of a rig whose disk does not answer', async () => {
  const { reads, asked, told } = readsOf((written) => Promise.resolve(`/cities/alpha/${written}`));
  reads.answering = new Answering();
  reads.answering.mountOf = (folder) => ({ at: folder, disk: folder, isRemote: true });
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
