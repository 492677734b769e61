import { Body, Controller, Param, Post } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { AsyncAcceptedResponse } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { CityCreateRequest, CityRegisterRequest } from './cities.schemas.js';
import { CityCreationService } from './city-creation.service.js';
import { CityLifecycleService } from './city-lifecycle.service.js';
import { CityNameParam } from './city-name.param.js';
import { CityRegistrationService } from './city-registration.service.js';

const accepted = { tag: 'cities', status: 202, response: AsyncAcceptedResponse } as const;
const NAME = { schema: CityNameParam };

/** The asynchronous operations: each answers 202 and ends with one event on the supervisor's stream. */
@Controller('v0')
export class CityLifecycleController {
  constructor(
    private readonly creation: CityCreationService,
    private readonly registration: CityRegistrationService,
    private readonly lifecycle: CityLifecycleService,
  ) {}

  @Operation({
    ...accepted,
    id: 'post-v0-city',
    name: 'create-city',
    needs: 'configure',
    commands: ['start_command', 'network'],
    example: { dir: 'my-city', provider: 'loopback' },
    summary: 'Create a city: scaffold its directory, register it and bring it up',
    description:
      'The directory must belong to no other city, lie in none and have none in it. A key of some cities makes these only, in the directory named ' +
      'as the city; whatever else it names is 403, whether it is there or not.',
    problems: ['wrong_state', 'validation_failed', 'provider_not_ready', 'not_implemented'],
  })
  @Post('city')
  create(
    @Body({ schema: CityCreateRequest }) body: CityCreateRequest,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
  ): Promise<AsyncAcceptedResponse> {
    return this.creation.create(body, caller, key);
  }

  @Operation({
    ...accepted,
    id: 'register-city',
    needs: 'commands',
    example: { dir: 'my-city' },
    summary: 'Attach a directory that already holds a city, and bring it up',
    description:
      'As for a new city. What a directory belonged to last is remembered: it takes a key that may see that city, also to attach it under another name.',
    problems: ['wrong_state', 'validation_failed', 'dependency_missing'],
  })
  @Post('cities/register')
  register(
    @Body({ schema: CityRegisterRequest }) body: CityRegisterRequest,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
  ): Promise<AsyncAcceptedResponse> {
    return this.registration.register(body, caller, key);
  }

  @Operation({
    ...accepted,
    id: 'stop-city',
    needs: 'operate',
    summary: 'Stop a city; it stays registered',
    description:
      'Its sessions are put to sleep, and nothing of it is started. Goes on in the background: `request.result.city.stop` or `request.failed` ends it.',
    problems: ['city_not_found', 'operation_in_progress'],
  })
  @Post('city/:cityName/stop')
  stop(
    @Param('cityName', NAME) name: string,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
  ): Promise<AsyncAcceptedResponse> {
    return this.lifecycle.stop(name, caller, key);
  }

  @Operation({
    ...accepted,
    id: 'start-city',
    needs: 'operate',
    summary: 'Start a stopped city, or try a failed one again at once',
    description: 'Goes on in the background: `request.result.city.start` or `request.failed` ends it.',
    problems: ['city_not_found', 'operation_in_progress'],
  })
  @Post('city/:cityName/start')
  start(
    @Param('cityName', NAME) name: string,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
  ): Promise<AsyncAcceptedResponse> {
    return this.lifecycle.start(name, caller, key);
  }

  @Operation({
    ...accepted,
    id: 'post-v0-city-by-city-name-unregister',
    name: 'unregister-city',
    needs: 'configure',
    summary: 'Take a city out of the registry; its directory is left alone',
    description:
      'Its sessions are ended first. Its work and its log stay with its name. Goes on in the background: `request.result.city.unregister` or `request.failed` ends it.',
    problems: ['city_not_found', 'operation_in_progress', 'not_implemented'],
  })
  @Post('city/:cityName/unregister')
  unregister(
    @Param('cityName') name: string,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
  ): Promise<AsyncAcceptedResponse> {
    return this.lifecycle.unregister(name, caller, key);
  }
}
