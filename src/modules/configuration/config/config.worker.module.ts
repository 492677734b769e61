import { Module } from '@nestjs/common';
import { ConfigCoreModule } from './config-core.module.js';
import { ConfigKeeperRepository } from './config-keeper.repository.js';
import { ConfigKeeper } from './config-keeper.js';
import { KeptCities } from './kept-cities.js';

/** What a worker does for the files of cities: notice changes, take back edits whose process vanished. */
@Module({ imports: [ConfigCoreModule], providers: [ConfigKeeper, ConfigKeeperRepository, KeptCities] })
export class ConfigWorkerModule {}
