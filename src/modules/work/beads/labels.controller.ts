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

  @Operation({
    id: 'replace-bead-labels',
    needs: 'operate',
    summary: "Replace a bead's labels",
    description: 'It has these labels then and no others.',
    ...LABELS,
  })
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

  @Operation({
    id: 'add-bead-labels',
    needs: 'operate',
    summary: 'Add labels to a bead',
    description: 'Labels that it has already change nothing.',
    ...LABELS,
  })
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
    id: 'remove-bead-label',
    needs: 'operate',
    summary: 'Take a label off a bead; one that it does not have is no mistake',
    description: 'The others stay.',
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
