import { Injectable } from '@nestjs/common';
import type { NetworkRule } from '../../../contract/network.js';
import { RunnerListRepository } from './runner-list.repository.js';

/** What the walls of the runners cannot do of what somebody asks for. */
@Injectable()
export class RunnerWallsService {
  constructor(private readonly repository: RunnerListRepository) {}

  /** Members of an answer: what whoever restricts the network has to know. None where every runner can, or none is alive. */
  async warningOf(rule: NetworkRule | undefined): Promise<{ warnings?: string[] }> {
    if (rule === undefined || rule === 'all') return {};
    const { active, walled } = await this.repository.walls();
    if (walled === active) return {};
    const who = walled === 0 ? 'no runner' : `only ${walled} of ${active} runners`;
    return { warnings: [`network is restricted, and ${who} can do so (bubblewrap): sessions that it holds for are not started without`] };
  }
}
