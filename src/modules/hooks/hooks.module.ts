import { Module } from '@nestjs/common';
import { CitiesModule } from '../cities/cities.module.js';
import { WorkModule } from '../work/work.module.js';

@Module({ imports: [CitiesModule, WorkModule] })
export class HooksModule {}
