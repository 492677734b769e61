import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import {
  ApiKeyCreatedResponse,
  ApiKeyCreateInputBody,
  ApiKeyId,
  ApiKeyRotatedResponse,
  ApiKeyRotateInputBody,
  KeysQuery,
  ListBodyApiKeyResponse,
  type ApiKeyCreateInput,
  type ApiKeyRotateInput,
} from './keys.schemas.js';
import { KeysService } from './keys.service.js';

@Controller('v0/keys')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Operation({
    id: 'create-key',
    needs: 'administer',
    summary: 'Create an API key',
    description: 'The answer has the secret, once.',
    status: 201,
    response: ApiKeyCreatedResponse,
    problems: ['conflict'],
  })
  @Post()
  create(@Caller() caller: Principal, @Body({ schema: ApiKeyCreateInputBody }) body: ApiKeyCreateInput): Promise<ApiKeyCreatedResponse> {
    return this.keys.create(caller, body);
  }

  @Operation({
    id: 'list-keys',
    needs: 'administer',
    summary: 'List the API keys that are not revoked',
    description: 'Without their secrets, which nobody can read.',
    response: ListBodyApiKeyResponse,
    problems: ['forbidden', 'invalid_cursor'],
  })
  @Get()
  list(@Caller() caller: Principal, @Query({ schema: KeysQuery }) query: KeysQuery): Promise<ListBodyApiKeyResponse> {
    return this.keys.list(caller, query);
  }

  @Operation({
    id: 'rotate-key',
    needs: 'administer',
    example: { grace_seconds: 3600 },
    summary: 'Give an API key a new secret',
    description:
      'Id, name, rights and end stay. The secret before is good for `grace_seconds` more, and the one before that until the end that it was ' +
      'promised, so that it may be asked again when the answer is lost; an earlier one no longer. With 0 all before end at once. What is open ' +
      'with a secret ends with it.',
    response: ApiKeyRotatedResponse,
    problems: ['not_found', 'wrong_state'],
  })
  @Post(':id/rotate')
  rotate(
    @Caller() caller: Principal,
    @Param('id', { schema: ApiKeyId }) id: string,
    @Body({ schema: ApiKeyRotateInputBody }) body: ApiKeyRotateInput,
  ): Promise<ApiKeyRotatedResponse> {
    return this.keys.rotate(caller, id, body);
  }

  @Operation({
    id: 'delete-key',
    needs: 'administer',
    summary: 'Revoke an API key',
    description: 'It is refused from then on, and what is open with it ends.',
    response: OKResponseBody,
    problems: ['not_found'],
  })
  @Delete(':id')
  async revoke(@Caller() caller: Principal, @Param('id', { schema: ApiKeyId }) id: string): Promise<{ status: string }> {
    await this.keys.revoke(caller, id);
    return { status: 'ok' };
  }
}
