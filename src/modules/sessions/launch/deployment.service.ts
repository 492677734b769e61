import { Injectable } from '@nestjs/common';
import { LaunchRepository } from './launch.repository.js';

/** Which database this is: processes of agents carry it, so that nobody ends those of another one on the same host. */
@Injectable()
export class DeploymentService {
  #id: Promise<string> | undefined;

  constructor(private readonly repository: LaunchRepository) {}

  /** A UUID that never changes. */
  id(): Promise<string> {
    this.#id ??= this.repository.deployment().catch((error: unknown) => {
      this.#id = undefined;
      throw error;
    });
    return this.#id;
  }
}
