import { Module } from '@nestjs/common';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { RosterModule } from '../../configuration/roster/roster.module.js';
import { FormulaEditsService } from './formula-edits.service.js';
import { FormulaTargetsRepository } from './formula-targets.repository.js';
import { FormulaWorkModule } from './formula-work.module.js';
import { FormulasController } from './formulas.controller.js';
import { FormulasService } from './formulas.service.js';

@Module({
  imports: [CitiesModule, ConfigCoreModule, FormulaWorkModule, RosterModule],
  controllers: [FormulasController],
  providers: [FormulaEditsService, FormulasService, FormulaTargetsRepository],
})
export class FormulasModule {}
