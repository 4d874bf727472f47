import { Worker } from 'node:worker_threads';
import type { Address } from '@opentill/chain/address-codec';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { WalletPublicKeys } from '@opentill/wallet/public-keys';

export type DerivationErrorCode =
  /** The thread ended or could not derive; the next call starts a new one. Retryable. */
  'DERIVATION_FAILED';

export interface DerivationWorkerData {
  readonly publicKeys: WalletPublicKeys;
}
export interface DerivationRequest {
  readonly id: number;
  readonly family: Family;
  readonly indexes: readonly number[];
}
export type DerivationAnswer =
  | { readonly id: number; readonly addresses: readonly Address[] }
  | { readonly id: number; readonly problem: string };

/** Derives deposit addresses in a worker thread: about 0.15 ms each is too long for a busy event loop. */
export interface DerivationThread {
  /** Returns addresses in the order of `indexes`. @throws GatewayError DERIVATION_FAILED */
  derive(family: Family, indexes: readonly number[]): Promise<readonly Address[]>;
  stop(): Promise<void>;
}

interface Waiting {
  readonly resolve: (addresses: readonly Address[]) => void;
  readonly reject: (error: GatewayError) => void;
}

/** An idle thread holds 20 MB. */
const IDLE_MS = 60_000;

/** Starts the thread at the first call, and a new one after it ended. Ends it when it has had no call for `idleMs`. */
export function createDerivationThread(publicKeys: WalletPublicKeys, idleMs = IDLE_MS): DerivationThread {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let nextId = 0;

  function failAll(reason: string, cause?: unknown): void {
    worker = undefined;
    for (const { reject } of waiting.values()) reject(failed(reason, cause));
    waiting.clear();
  }

  function end(): void {
    if (waiting.size > 0) return;
    const ending = worker;
    worker = undefined;
    void ending?.terminate();
  }

  function start(): Worker {
    const source = import.meta.url.endsWith('.ts');
    const started = new Worker(new URL(`./derivation-worker.${source ? 'ts' : 'js'}`, import.meta.url), {
      workerData: { publicKeys } satisfies DerivationWorkerData,
      ...(source ? { execArgv: ['--conditions=source'] } : {}),
    });
    started.on('message', (answer: DerivationAnswer) => {
      const caller = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ('addresses' in answer) caller?.resolve(answer.addresses);
      else caller?.reject(failed(answer.problem));
      clearTimeout(idle);
      if (waiting.size === 0) idle = setTimeout(end, idleMs).unref();
    });
    started.on('error', (error) => failAll('the thread failed', error));
    started.on('exit', () => {
      if (worker === started) failAll('the thread ended');
    });
    started.unref();
    return started;
  }

  return {
    derive: (family, indexes) =>
      new Promise((resolve, reject) => {
        worker ??= start();
        const id = (nextId += 1);
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, family, indexes } satisfies DerivationRequest);
      }),
    async stop() {
      const stopping = worker;
      clearTimeout(idle);
      failAll('the service is stopping');
      await stopping?.terminate();
    },
  };
}

function failed(reason: string, cause?: unknown): GatewayError<DerivationErrorCode> {
  return new GatewayError('DERIVATION_FAILED', `deposit addresses not derived: ${reason}`, {
    retryable: true,
    cause,
  });
}
