import { Injectable } from '@nestjs/common';
import { endOrphans } from '../../../platform/runtime/ending.js';
import { findProcesses, listProcesses } from '../../../platform/runtime/process-table.js';
import { DeploymentService } from '../../sessions/launch/deployment.service.js';
import { HostProcesses, type FoundProcess, type ProcessMarkers } from './ports.js';

/** Processes of this database's agents on this host, as the process table of the host shows them. */
@Injectable()
export class MarkedProcesses extends HostProcesses {
  constructor(private readonly deployment: DeploymentService) {
    super();
  }

  async find(markers: ProcessMarkers): Promise<readonly FoundProcess[]> {
    return findProcesses({ ...markers, deployment: await this.deployment.id() });
  }

  async end(markers: ProcessMarkers, which?: (found: FoundProcess) => boolean): Promise<number> {
    return endOrphans({ ...markers, deployment: await this.deployment.id() }, {}, listProcesses, which);
  }
}
