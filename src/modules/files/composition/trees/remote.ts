import type { Answerers, Ask } from '../../../../platform/threads/protocol.js';
import { LIMITS } from '../compose/limits.js';
import type { FoundPack, ImportRequest, PackStore } from '../packs/pack-store.js';
import { TreeFailure, type Allowance, type FileTree, type TreeEntry } from './file-tree.js';

/*
 * The files of a city for a thread that composes it. The thread opens none: it asks for each, and they are read where all
 * others are, with the same rules and the same ledger.
 */

type Failed = { readonly failure: { readonly path: string; readonly message: string; readonly transient: boolean } };
type Answer<T> = { readonly value: T } | Failed;
type Digests = Awaited<ReturnType<FileTree['digests']>>;
interface RemotePack {
  readonly id: string;
  readonly tree: number;
  readonly label: string;
  readonly folder: string;
  readonly version: string | undefined;
  readonly commit: string | undefined;
}

const CITY = 0;

const WHOLE: Allowance = { files: LIMITS.digested, bytes: LIMITS.bytes };

/** Answers what a thread asks of these trees. All of it counts as it does without a thread. */
export function answerersOf(city: FileTree, packs: PackStore, allowance = WHOLE): Answerers {
  const trees: FileTree[] = [city];
  const numbers = new Map<FileTree, number>([[city, CITY]]);
  const left = { ...allowance };
  const numberOf = (tree: FileTree): number => {
    const known = numbers.get(tree);
    if (known !== undefined) return known;
    numbers.set(tree, trees.length);
    return trees.push(tree) - 1;
  };
  return {
    read: (tree: number, path: string) =>
      answered(async () => {
        const text = await trees[tree]!.read(path);
        left.bytes -= text?.length ?? 0;
        return text;
      }),
    list: (tree: number, path: string) => answered(() => trees[tree]!.list(path)),
    digests: async (tree: number, path: string) => {
      const share = new Share(left);
      return { ...(await answered(() => trees[tree]!.digests(path, share))), used: share.used };
    },
    find: async (request: Omit<ImportRequest, 'from'> & { from: number }) => {
      const found = await packs.find({ ...request, from: trees[request.from]! });
      if ('missing' in found) return found;
      const { id, folder, version, commit, tree } = found;
      return { id, folder, version, commit, tree: numberOf(tree), label: tree.label } satisfies RemotePack;
    },
  };
}

/** The trees as the thread sees them. @throws TreeFailure as those do */
export class RemoteTrees implements PackStore {
  readonly city: FileTree;
  readonly #trees = new Map<number, RemoteTree>();

  constructor(private readonly ask: Ask) {
    this.city = this.#tree(CITY, '');
  }

  async find(request: ImportRequest): Promise<FoundPack | { readonly missing: string }> {
    const from = (request.from as RemoteTree).number;
    const found = (await this.ask('find', { ...request, from })) as RemotePack | { missing: string };
    return 'missing' in found ? found : { ...found, tree: this.#tree(found.tree, found.label) };
  }

  #tree(number: number, label: string): RemoteTree {
    const known = this.#trees.get(number) ?? new RemoteTree(this.ask, number, label);
    this.#trees.set(number, known);
    return known;
  }
}

class RemoteTree implements FileTree {
  constructor(
    private readonly ask: Ask,
    readonly number: number,
    readonly label: string,
  ) {}

  async read(path: string): Promise<string | undefined> {
    return valueOf((await this.ask('read', this.number, path)) as Answer<string | undefined>);
  }

  async list(path: string): Promise<readonly TreeEntry[]> {
    return valueOf((await this.ask('list', this.number, path)) as Answer<readonly TreeEntry[]>);
  }

  async digests(path: string, allowance?: Allowance): Promise<Digests> {
    const answer = (await this.ask('digests', this.number, path)) as Answer<Digests> & { used: Allowance };
    if (allowance !== undefined) {
      allowance.files -= answer.used.files;
      allowance.bytes -= answer.used.bytes;
    }
    return valueOf(answer);
  }
}

/** What one reading takes of what all of them may. */
class Share implements Allowance {
  readonly used = { files: 0, bytes: 0 };

  constructor(private readonly whole: Allowance) {}

  get files(): number {
    return this.whole.files;
  }

  set files(left: number) {
    this.used.files += this.whole.files - left;
    this.whole.files = left;
  }

  get bytes(): number {
    return this.whole.bytes;
  }

  set bytes(left: number) {
    this.used.bytes += this.whole.bytes - left;
    this.whole.bytes = left;
  }
}

/** The value, or what is wrong with the path: the class of an error does not go from thread to thread. */
async function answered<T>(work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof TreeFailure)) throw error;
    const { path, message, transient } = error;
    return { failure: { path, message, transient } };
  }
}

function valueOf<T>(answer: Answer<T>): T {
  if ('value' in answer) return answer.value;
  const { path, message, transient } = answer.failure;
  throw new TreeFailure(path, message, transient);
}
