import path from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { notYours } from '../../files/directories/not-yours.js';
import { rigPlace, type RigPlace, type Roots } from './rig-place.js';

/** Where rigs of a city may lie, by what is on disk and by who has which directories. */
@Injectable()
export class RigPlaces {
  constructor(
    private readonly config: AppConfig,
    private readonly directories: DirectoriesService,
  ) {}

  /**
   * The directory that a caller names. A key of some cities only gets nothing outside of the city but what the city has there.
   *
   * @throws ProblemError invalid_request, forbidden
   */
  async find(given: string, city: CityScope, { cities }: Principal): Promise<RigPlace> {
    const confined = cities !== undefined;
    const mayName = confined ? (directory: string): Promise<boolean> => this.directories.hasRig(city.name, directory) : undefined;
    const place = await rigPlace(given, { ...this.#roots(city), mayName });
    const { directory } = place;
    if (isBelow(city.path, directory)) return place;
    const refused = await this.directories.refusedRigs(city.name, { paths: [directory], given: confined ? [] : [directory], confined });
    if (refused.length === 0) return place;
    if (confined) throw notYours();
    const why = 'it is a directory of the service or of another city, or has one in it';
    throw problem('invalid_request', `invalid rig path: ${why}`, { at: 'body.path', value: given });
  }

  /**
   * The directory of a rig that the configuration has; undefined where it leads to somebody else's by now. Where rigs may lie is looked at on disk
   * as well: a directory that the operator allows, and that does not `answer`, counts as one that is not there.
   */
  async ofRig(written: string, city: CityScope, answers: (root: string) => Promise<boolean>): Promise<string | undefined> {
    const { citiesRoot, allowedPaths } = this.config;
    if (!(await answers(citiesRoot))) return undefined;
    const answered = await Promise.all(allowedPaths.map((root) => answers(root)));
    const roots = { ...this.#roots(city), allowedPaths: allowedPaths.filter((_, n) => answered[n]) };
    const { directory } = await rigPlace(path.resolve(city.path, written), roots);
    const isOwn = isBelow(city.path, directory) || !(await this.directories.isOthers(directory, city.name));
    return isOwn ? directory : undefined;
  }

  #roots({ path: city }: CityScope): Roots {
    const { citiesRoot, allowedPaths } = this.config;
    return { city, citiesRoot, allowedPaths };
  }
}
