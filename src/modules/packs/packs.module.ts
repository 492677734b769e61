import { Module } from '@nestjs/common';
import { CitiesModule } from '../cities/cities.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';

@Module({ imports: [CitiesModule, ConfigCoreModule] })
export class PacksModule {}
