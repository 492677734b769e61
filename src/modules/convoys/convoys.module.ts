import { Module } from '@nestjs/common';
import { CitiesModule } from '../cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';
import { ConvoysRepository } from './convoys.repository.js';
import { ConvoysService } from './convoys.service.js';

/** Convoys over HTTP; exports `ConvoysService` for whoever makes convoys of its own. */
@Module({ imports: [CitiesModule, WorkModule], providers: [ConvoysRepository, ConvoysService], exports: [ConvoysService] })
export class ConvoysModule {}
