import { Injectable } from '@nestjs/common';
import { ConvoyCreated } from '../../contract/events/convoys.events.js';
import { event } from '../../platform/event-log/event.js';
import type { BeadRecord, NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { ConvoysRepository } from './convoys.repository.js';

@Injectable()
export class ConvoysService {
  constructor(private readonly repository: ConvoysRepository) {}

  /** The convoy that follows a slung bead and is not closed; there is at most one. */
  async liveSlingConvoy(work: Work, beadId: string): Promise<BeadRecord | undefined> {
    const id = await this.repository.liveSlingConvoy(work.tx, work.city.streamId, beadId);
    return id === undefined ? undefined : work.find(id);
  }

  /** A convoy of one bead, in the bead's rig. Only when there is no `liveSlingConvoy`. An owned one does not close by itself. */
  async createSlingConvoy(work: Work, bead: BeadRecord, { owned }: { owned: boolean }): Promise<BeadRecord> {
    return this.#create(work, { rig: bead.rig, title: `sling-${bead.id}`, labels: owned ? ['owned'] : [], slingSource: bead.id }, [
      bead.id,
    ]);
  }

  async #create(work: Work, convoy: NewBead, items: readonly string[]): Promise<BeadRecord> {
    const { id } = await work.create({ ...convoy, type: 'convoy' });
    for (const item of items) await work.putEdge({ issue_id: id, depends_on_id: item, type: 'tracks' });
    const created = await work.require(id);
    work.emit(event(ConvoyCreated, { ...work.facts(created), message: created.title, payload: {} }));
    return created;
  }
}
