import { Module } from '@nestjs/common';
import { RunnerFacts } from './runner-facts.service.js';
import { RunnerListRepository } from './runner-list.repository.js';

/** Runners as they are shown, for requests and for workers. */
@Module({ providers: [RunnerFacts, RunnerListRepository], exports: [RunnerFacts, RunnerListRepository] })
export class RunnerListCoreModule {}
