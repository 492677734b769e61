import { Body, Controller, Delete, Get, Param, Post, Put, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { IfMatch, type Expected } from '../../../platform/http/if-match.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { edited, stamped } from '../../configuration/config/answers.js';
import { FormulaEditsService } from './formula-edits.service.js';
import { FormulasService } from './formulas.service.js';
import {
  FormulaBody,
  FormulaDetailResponse,
  FormulaListBody,
  FormulaNameParam,
  FormulaPreviewBody,
  FormulaQuery,
  FormulaSourceOutputBody,
  FormulasQuery,
  FormulaValidateOutputBody,
} from './formulas.schemas.js';

const NAME = { schema: FormulaNameParam };
const READ = { tag: 'formulas', headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'] } as const;
const WRITTEN = { tag: 'formulas', headers: ['X-SVC-Index', 'ETag'] } as const;
const SCOPED = ['city_not_found', 'invalid_request', 'scope_not_found', 'unavailable'] as const;
const REFUSED = [
  'city_not_found',
  'conflict',
  'wrong_state',
  'revision_mismatch',
  'validation_failed',
  'dependency_missing',
  'unavailable',
] as const;
const DETAIL =
  'The formula with the defaults of its variables, as a run would have it; nothing is stored. A rig sees what the city has, and over it what its packs and ' +
  'its own folder have. `target` is the agent or the bead that it would be for.';
const EXAMPLE = 'formula = "greet"\n[[steps]]\nid = "say"\ntitle = "Say hello"\n';

/** Formulas: what a city has, what they become, and the files of its own. */
@Controller('v0/city/:cityName')
export class FormulasController {
  constructor(
    private readonly formulas: FormulasService,
    private readonly edits: FormulaEditsService,
  ) {}

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-formulas',
    name: 'list-formulas',
    summary: 'List the formulas that a city or rig sees',
    description:
      'Workflows, by name, each with the file that counts and those that it shadows. One that cannot be used is there with its `errors`. ' +
      'A page ends after 2 MiB, whatever its `limit`.',
    response: FormulaListBody,
    problems: [...SCOPED, 'invalid_cursor'],
  })
  @Get('formulas')
  async list(
    @City() city: CityScope,
    @Query({ schema: FormulasQuery }) query: FormulasQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<FormulaListBody> {
    const answer = await this.formulas.list(city, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-formulas-by-name',
    name: 'get-formula',
    summary: 'Read what a formula becomes',
    description: DETAIL,
    response: FormulaDetailResponse,
    problems: [...SCOPED, 'formula_not_found'],
  })
  @Get('formulas/:name')
  async detail(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: FormulaQuery }) query: FormulaQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<FormulaDetailResponse> {
    const answer = await this.formulas.detail(city, name, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-formula-by-name',
    name: 'get-formula-by-old-path',
    summary: 'Read what a formula becomes, under its other path',
    description: DETAIL,
    response: FormulaDetailResponse,
    problems: [...SCOPED, 'formula_not_found'],
  })
  @Get('formula/:name')
  async detailAlias(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Query({ schema: FormulaQuery }) query: FormulaQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<FormulaDetailResponse> {
    const answer = await this.formulas.detail(city, name, query);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...READ,
    id: 'post-v0-city-by-city-name-formulas-by-name-preview',
    name: 'preview-formula',
    needs: 'operate',
    example: { scope_kind: 'city', scope_ref: 'al', target: 'mayor' },
    summary: 'Preview a formula with values',
    description: 'As the formula would run with these `vars`, which are checked; nothing is stored.',
    response: FormulaDetailResponse,
    problems: [...SCOPED, 'formula_not_found'],
  })
  @Post('formulas/:name/preview')
  async preview(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Body({ schema: FormulaPreviewBody }) body: FormulaPreviewBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<FormulaDetailResponse> {
    const answer = await this.formulas.preview(city, name, body);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    ...READ,
    id: 'get-v0-city-by-city-name-formulas-by-name-source',
    name: 'get-formula-source',
    summary: 'Read the city’s own file of a formula',
    description: 'As it is on disk. What comes from a pack has none here.',
    response: FormulaSourceOutputBody,
    problems: ['city_not_found', 'formula_not_found', 'unavailable'],
  })
  @Get('formulas/:name/source')
  async source(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<FormulaSourceOutputBody> {
    const answer = await this.formulas.source(city, name);
    return stamped(reply, answer, answer.body);
  }

  @Operation({
    tag: 'formulas',
    id: 'post-v0-city-by-city-name-formulas-by-name-validate',
    name: 'validate-formula',
    needs: 'configure',
    consumes: 'application/octet-stream',
    example: EXAMPLE,
    summary: 'Validate a formula without storing it',
    description:
      'The body is the file. Every error names file, line and key. What the formula extends and expands is taken from the city as it runs; texts and scripts that it names beside it may also be newer: they are read from the files of the city, and with files that cannot be used the errors say why.',
    response: FormulaValidateOutputBody,
    problems: ['city_not_found', 'unavailable'],
  })
  @Post('formulas/:name/validate')
  validate(
    @City() city: CityScope,
    @Param('name', NAME) name: string,
    @Body({ schema: FormulaBody }) body: string,
  ): Promise<FormulaValidateOutputBody> {
    return this.edits.validate(city, name, body);
  }

  @Operation({
    ...WRITTEN,
    id: 'put-v0-city-by-city-name-formulas-by-name',
    name: 'save-formula',
    needs: 'configure',
    consumes: 'application/octet-stream',
    example: EXAMPLE,
    summary: 'Save a formula in the city’s own files',
    description:
      'The body is the file; it is stored as it is, or refused with all that is wrong. It counts over what packs have under the name. A formula with a ' +
      '`check` says what is run: that needs the right `commands` too.',
    response: OKResponseBody,
    problems: ['invalid_request', 'forbidden', ...REFUSED],
  })
  @Put('formulas/:name')
  async save(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Param('name', NAME) name: string,
    @Body({ schema: FormulaBody }) body: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.edits.save({ city, caller, expected }, name, body));
  }

  @Operation({
    ...WRITTEN,
    id: 'delete-v0-city-by-city-name-formulas-by-name',
    name: 'delete-formula',
    needs: 'configure',
    summary: 'Delete the city’s own file of a formula',
    description: 'What a pack has under the name counts again.',
    response: OKResponseBody,
    problems: ['formula_not_found', ...REFUSED],
  })
  @Delete('formulas/:name')
  async remove(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IfMatch() expected: Expected,
    @Param('name', NAME) name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OKResponseBody> {
    return edited(reply, await this.edits.remove({ city, caller, expected }, name));
  }
}
