import { Body, Controller, Delete, Get, Post, Query } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { OKResponseBody } from '../../../../contract/scalars.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { CONVERSATION } from '../conversations/examples.js';
import {
  ConversationGroupParticipant,
  ConversationGroupRecord,
  ExtMsgGroupEnsureInputBody,
  ExtMsgParticipantRemoveInputBody,
  ExtMsgParticipantUpsertInputBody,
  GroupQuery,
  type ExtMsgGroupEnsureInput,
  type ExtMsgParticipantRemoveInput,
  type ExtMsgParticipantUpsertInput,
} from './groups.schemas.js';
import { GroupsService } from './groups.service.js';

const tag = 'extmsg';

@Controller('v0/city/:cityName/extmsg')
export class GroupsController {
  constructor(private readonly groups: GroupsService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-extmsg-groups',
    name: 'get-extmsg-group',
    summary: 'Read the group of a conversation',
    description: 'With its members. All parts of the conversation have to be given, as they were when the group was made.',
    tag,
    response: ConversationGroupRecord,
    problems: ['city_not_found', 'extmsg_group_not_found', 'forbidden'],
  })
  @Get('groups')
  find(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Query({ schema: GroupQuery }) query: GroupQuery,
  ): Promise<ConversationGroupRecord> {
    return this.groups.find(city, query, caller);
  }

  @Operation({
    id: 'ensure-extmsg-group',
    needs: 'operate',
    example: { root_conversation: CONVERSATION, default_handle: 'ops' },
    summary: 'Make the group of a conversation, or change it',
    description: 'Mode, default handle and fan-out policy are what is said now, also where nothing is; metadata is added to what is there.',
    tag,
    status: 201,
    response: ConversationGroupRecord,
    problems: ['city_not_found', 'validation_failed'],
  })
  @Post('groups')
  ensure(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgGroupEnsureInputBody }) body: ExtMsgGroupEnsureInput,
  ): Promise<ConversationGroupRecord> {
    return this.groups.ensure(city, body, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-participants',
    name: 'add-extmsg-participant',
    needs: 'operate',
    example: { group_id: 'group-0123456789abcdef01234567', handle: 'ops', session_id: 'mayor' },
    summary: 'Give somebody a handle in a group',
    description: 'A handle that somebody has goes to whom is named now.',
    tag,
    response: ConversationGroupParticipant,
    problems: ['city_not_found', 'session_not_found', 'extmsg_group_not_found', 'validation_failed', 'ambiguous'],
  })
  @Post('participants')
  upsert(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgParticipantUpsertInputBody }) body: ExtMsgParticipantUpsertInput,
  ): Promise<ConversationGroupParticipant> {
    return this.groups.upsert(city, body, caller);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-extmsg-participants',
    name: 'remove-extmsg-participant',
    needs: 'operate',
    example: { group_id: 'group-0123456789abcdef01234567', handle: 'ops' },
    summary: 'Take a handle back',
    description: 'Whoever had it is told nothing more. A handle that nobody has is no mistake.',
    tag,
    response: OKResponseBody,
    problems: ['city_not_found', 'extmsg_group_not_found', 'validation_failed'],
  })
  @Delete('participants')
  remove(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgParticipantRemoveInputBody }) body: ExtMsgParticipantRemoveInput,
  ): Promise<OKResponseBody> {
    return this.groups.remove(city, body, caller);
  }
}
