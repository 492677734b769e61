import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { errnoOf, isBelow } from '../composition/trees/paths.js';
import { DirectoriesRepository, MOST_OVERLAPS, type Tree } from './directories.repository.js';
import { notYours } from './not-yours.js';
import { RigRoots } from './rig-roots.js';
import { ASIDE_INSIDE } from './set-aside.js';

/** A city that shall have a directory, and what the key that asks may see: every city when undefined. */
export interface Claimant {
  readonly city: string;
  readonly sees: readonly string[] | undefined;
}

/** What a claim ends: directories that other cities had last. */
export interface Former {
  readonly cities: readonly string[];
  /** Those that are not on disk any more: nobody has to see their cities. */
  readonly gone: ReadonlySet<string>;
}

/** The rigs of a city that lie outside of it. */
export interface RigClaims {
  /** Real paths. */
  readonly paths: readonly string[];
  /** Of these, what the caller asks for by name and with a key for all cities: it may take over what others had last. */
  readonly given: readonly string[];
  /** True for a key of some cities only: the city gets nothing outside that it never had. */
  readonly confined: boolean;
}

/**
 * One tree, one owner: no directory of a city is one of another city, lies in one or has one in it. All paths are real ones. A
 * city's own directory is in its row; rigs elsewhere, and what cities had last, are rows of their own.
 */
@Injectable()
export class DirectoriesService {
  constructor(
    private readonly config: AppConfig,
    private readonly repository: DirectoriesRepository,
    private readonly db: Db,
  ) {}

  /**
   * Whether a directory belongs to somebody else: the service, or a city that has it or had it last. What lies where the operator allows rigs
   * is the operator's until a city has it.
   */
  async isOthers(directory: string, city: string): Promise<boolean> {
    if (await this.isOfService(directory)) return true;
    if ((await RigRoots.of(this.config)).isBeyond(directory) && !(await this.hasRig(city, directory))) return true;
    return (await this.repository.overlaps(this.db, treeOf(directory), city)).length > 0;
  }

  /**
   * Whether the service keeps its own files there: in the data directory, which may lie below the cities root or around it, around that root, or
   * where a restore has moved the files of all cities aside.
   */
  async isOfService(directory: string): Promise<boolean> {
    const { dataDir, citiesRoot } = this.config;
    const [data, root] = await Promise.all([dataDir, citiesRoot].map((at) => realpath(at).catch(() => path.resolve(at))));
    if (isBelow(directory, root!)) return true;
    // Where the file system knows no cases, `.SVC-before-` is the same directory.
    if (path.relative(root!, directory).toLowerCase().startsWith(ASIDE_INSIDE)) return true;
    const isCities = isBelow(data!, root!) && (directory === root || isBelow(root!, directory));
    return !isCities && (directory === data || isBelow(data!, directory) || isBelow(directory, data!));
  }

  /** Whether a key of these cities may ask for a directory: the one named as such a city, or one that such a city has or had last. */
  async isOf(cities: readonly string[], directory: string, citiesRoot: string): Promise<boolean> {
    const owner = await this.repository.ownerOf(this.db, treeOf(directory));
    return cities.includes(path.relative(citiesRoot, directory)) || (owner !== undefined && cities.includes(owner));
  }

  /** Whether a city has a rig at a directory outside of it, or had. */
  async hasRig(city: string, directory: string): Promise<boolean> {
    return (await this.repository.rigs(this.db, city)).some((rig) => rig.path === treeOf(directory));
  }

  /** Whether a city may be made at a directory. @throws ProblemError conflict, forbidden */
  async free(directory: string, claimant: Claimant): Promise<Former> {
    const found = await this.repository.overlaps(this.db, treeOf(directory), claimant.city);
    const hidden = found.filter((tree) => !tree.held && !sees(claimant, tree));
    const gone = await Promise.all(hidden.map(async (tree) => ((await isGone(tree.path)) ? [tree.path] : [])));
    return this.#former(directory, found, claimant, new Set(gone.flat()));
  }

  /** As `free`, and until the transaction ends nobody else gets a directory. */
  async reserve(tx: Tx, directory: string, claimant: Claimant, { gone }: Former): Promise<void> {
    await this.repository.lock(tx);
    this.#former(directory, await this.repository.overlaps(tx, treeOf(directory), claimant.city), claimant, gone);
  }

  /** The city has its directory: what others had there is its own, their rigs with it when it is their city under another name. */
  async settle(tx: Tx, directory: string, city: string): Promise<void> {
    const tree = treeOf(directory);
    await this.repository.moveRigs(tx, tree, city);
    const former = await this.repository.overlaps(tx, tree, city);
    await this.repository.forget(tx, [tree, ...former.map(({ path: at }) => at)]);
  }

  /** The city is about to end; its directory stays. */
  remember(tx: Tx, city: string, directory: string): Promise<void> {
    return this.repository.remember(tx, city, treeOf(directory));
  }

  /** Those of the paths that a city may not have rigs at. */
  async refusedRigs(city: string, claims: RigClaims): Promise<string[]> {
    if (claims.paths.length === 0) return [];
    const own = new Set((await this.repository.rigs(this.db, city)).map((rig) => rig.path));
    const roots = await RigRoots.of(this.config);
    const refused: string[] = [];
    for (const directory of claims.paths) {
      const isNew = !own.has(treeOf(directory));
      // Who writes a file of a city, an agent for instance, may be nobody who may give away what is the operator's.
      const isUnasked = claims.confined || (roots.isBeyond(directory) && !claims.given.includes(directory));
      if (await this.isOfService(directory)) refused.push(directory);
      else if (isNew && (isUnasked || (await this.#rigConflict(this.db, city, directory, claims)) !== undefined)) refused.push(directory);
    }
    return refused;
  }

  /** Makes the rigs of a city those that its configuration has. @throws ProblemError conflict when somebody was faster */
  async holdRigs(tx: Tx, city: string, claims: RigClaims): Promise<void> {
    const wanted = new Map(claims.paths.map((directory) => [treeOf(directory), directory]));
    const before = await this.repository.rigs(tx, city);
    const held = new Set(before.flatMap((rig) => (rig.held ? [rig.path] : [])));
    const added = [...wanted].filter(([tree]) => !held.has(tree));
    if (added.length > 0) await this.repository.lock(tx);
    for (const [tree, directory] of added) {
      const conflict = await this.#rigConflict(tx, city, directory, claims);
      if (conflict !== undefined) {
        const root = await realpath(this.config.citiesRoot);
        const shown = isBelow(root, directory) ? `: ${path.relative(root, directory)}` : '';
        throw claims.confined ? notYours() : problem('conflict', `the directory of a rig belongs to another city${shown}`);
      }
      await this.repository.forget(
        tx,
        (await this.repository.overlaps(tx, tree, city)).map(({ path: at }) => at),
      );
      await this.repository.holdRig(tx, city, tree);
    }
    const left = [...held].filter((tree) => !wanted.has(tree));
    if (left.length > 0) await this.repository.releaseRigs(tx, city, left);
  }

  async #rigConflict(db: Kysely<Database>, city: string, directory: string, claims: RigClaims): Promise<Tree | undefined> {
    const found = await this.repository.overlaps(db, treeOf(directory), city);
    const mayTakeOver = claims.given.includes(directory) && found.length < MOST_OVERLAPS;
    return found.find((tree) => tree.held || !mayTakeOver);
  }

  #former(directory: string, found: readonly Tree[], claimant: Claimant, gone: ReadonlySet<string>): Former {
    const left = found.filter((tree) => !gone.has(tree.path));
    if (left.some((tree) => !sees(claimant, tree))) throw notYours();
    const conflict = left.find((tree) => tree.held) ?? (left.length < MOST_OVERLAPS ? undefined : left[0]);
    if (conflict?.kind === 'creation') throw problem('operation_in_progress', `city initialization already in progress at ${directory}`);
    if (conflict !== undefined)
      throw problem('conflict', `${directory} is not free: the city ${conflict.city} has ${conflict.path.slice(0, -1)}`);
    return { cities: [...new Set(left.map(({ city }) => city))], gone };
  }
}

function treeOf(directory: string): string {
  return `${directory}/`;
}

function sees(claimant: Claimant, tree: Tree): boolean {
  return claimant.sees === undefined || claimant.sees.includes(tree.city);
}

async function isGone(tree: string): Promise<boolean> {
  return lstat(tree).then(
    () => false,
    (error: unknown) => errnoOf(error) === 'ENOENT',
  );
}
