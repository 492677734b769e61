import { Body, Controller, Delete, Param, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Bead } from '../../../contract/beads.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { OperationSpec } from '../../../platform/http/operation.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { changed } from './answers.js';
import { BeadChangesService } from './bead-changes.service.js';
import { BeadIdParam, BeadLabelsInputBody, LabelParam } from './beads.schemas.js';

const LABELS = {
  example: { labels: ['parser'] },
  tag: 'beads',
  status: 200,
  response: Bead,
  headers: ['ETag', 'X-SVC-Index'],
  problems: ['city_not_found', 'bead_not_found', 'revision_mismatch'],
} as const satisfies Omit<OperationSpec, 'id' | 'summary'>;

/** The labels of one bead, a set. */
@Controller('v0/city/:cityName/bead/:id/labels')
export class LabelsController {
  constructor(private readonly changes: BeadChangesService) {}

  @Operation({ id: 'put-v0-city-by-city-name-bead-by-id-labels', needs: 'operate', summary: "Replace a bead's labels", ...LABELS })
  @Put()
  async replace(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadLabelsInputBody }) { labels }: BeadLabelsInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Bead> {
    const done = await this.changes.relabel({ city, id, caller, expected }, { labels });
    return changed(reply, done, done.bead.snapshot);
  }

  @Operation({ id: 'post-v0-city-by-city-name-bead-by-id-labels', needs: 'operate', summary: 'Add labels to a bead', ...LABELS })
  @Post()
  async add(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Body({ schema: BeadLabelsInputBody }) { labels }: BeadLabelsInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Bead> {
    const done = await this.changes.relabel({ city, id, caller, expected }, { addLabels: labels });
    return changed(reply, done, done.bead.snapshot);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-bead-by-id-labels-by-label',
    needs: 'operate',
    summary: 'Take a label off a bead; one that it does not have is no mistake',
    ...LABELS,
  })
  @Delete(':label')
  async remove(
    @City() city: CityScope,
    @Param('id', { schema: BeadIdParam }) id: string,
    @Param('label', { schema: LabelParam }) label: string,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Bead> {
    const done = await this.changes.relabel({ city, id, caller, expected }, { removeLabels: [label] });
    return changed(reply, done, done.bead.snapshot);
  }
}
