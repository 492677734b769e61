import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { ANSWER_BYTES, PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Done } from '../work/work.service.js';
import type { NeighborhoodQuery } from './dependencies.schemas.js';
import { GraphRepository } from './graph.repository.js';
import { NeighborhoodRepository } from './neighborhood.repository.js';

const MAX_BEADS = 10_000;

/** A bead with everything that belongs to it, or with what is around it. */
@Injectable()
export class GraphService {
  constructor(
    private readonly repository: GraphRepository,
    private readonly neighborhoods: NeighborhoodRepository,
  ) {}

  /** The graph as JSON text. @throws ProblemError bead_not_found; invalid_request for a graph that is too large for one answer. */
  async graph(city: CityScope, root: string): Promise<Done<string>> {
    const { head, size, weight, json } = await this.repository.graph(city.streamId, root, MAX_BEADS, ANSWER_BYTES);
    if (size === 0) throw problem('bead_not_found', `bead ${root} not found`);
    if (size > MAX_BEADS)
      throw problem('invalid_request', `the graph of ${root} has more than ${MAX_BEADS} beads`, { at: 'path.rootID', value: root });
    if (json === null)
      throw problem('invalid_request', `the graph of ${root} holds ${weight} bytes of text, more than ${ANSWER_BYTES}`, {
        at: 'path.rootID',
        value: root,
      });
    return { value: json, index: head };
  }

  /** A bead with its neighbours and theirs, as JSON text. @throws ProblemError bead_not_found */
  async around(city: CityScope, id: string, { depth, limit }: NeighborhoodQuery): Promise<Done<string>> {
    const { head, json } = await this.neighborhoods.around(city.streamId, id, depth, limit, PAGE_BYTES);
    if (json === null) throw problem('bead_not_found', `bead ${id} not found`);
    return { value: json, index: head };
  }
}
