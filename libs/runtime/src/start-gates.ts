import { backoffMs } from './backoff.ts';

/** Start-up checks of one part of a service, for example of one chain. */
export interface StartGate<Failure> {
  /** False while the part is left out, or while another caller runs the checks. Throws temporary failures. */
  admit(signal: AbortSignal): Promise<boolean>;
  /** A later answer contradicted the checks that had passed. */
  leaveOut(failure: Failure, error: unknown): void;
  leftOut(): Failure | undefined;
}

export interface StartGatesOptions<Failure> {
  /** Undefined for a temporary error. */
  readonly failureOf: (error: unknown) => Failure | undefined;
  readonly nowMs: () => number;
  /** Every part is left out; receives the last error. */
  readonly onNoneUsable: (error: unknown) => void;
}

/** All parts are added before the first check runs. */
export interface StartGates<Failure> {
  add(check: (options: { readonly signal: AbortSignal }) => Promise<void>): StartGate<Failure>;
}

const FIRST_MS = 1_000;
const MAX_MS = 60_000;

/** A part that fails its checks is left out and checked again after 1 to 60 s. */
export function createStartGates<Failure>({
  failureOf,
  nowMs,
  onNoneUsable,
}: StartGatesOptions<Failure>): StartGates<Failure> {
  const gates: StartGate<Failure>[] = [];
  return {
    add(check) {
      let failure: Failure | undefined;
      let hasPassed = false;
      let isChecking = false;
      let failures = 0;
      let dueAtMs = 0;
      const leaveOut = (cause: Failure, error: unknown): void => {
        failure = cause;
        hasPassed = false;
        failures += 1;
        dueAtMs = nowMs() + backoffMs(failures, { firstMs: FIRST_MS, maxMs: MAX_MS });
        if (gates.every((one) => one.leftOut() !== undefined)) onNoneUsable(error);
      };
      const gate: StartGate<Failure> = {
        async admit(signal) {
          if (hasPassed) return true;
          if (isChecking || nowMs() < dueAtMs) return false;
          isChecking = true;
          try {
            await check({ signal });
            hasPassed = true;
            failure = undefined;
            failures = 0;
            return true;
          } catch (error) {
            const cause = failureOf(error);
            if (cause === undefined || signal.aborted) throw error;
            leaveOut(cause, error);
            return false;
          } finally {
            isChecking = false;
          }
        },
        leaveOut,
        leftOut: () => failure,
      };
      gates.push(gate);
      return gate;
    },
  };
}
