import { GatewayError } from '@opentill/domain/gateway-error';

export interface Finding {
  readonly source: string;
  readonly kind: string;
  readonly error: unknown;
}

/** A source has one of these at a time; in addition it may lack a method. */
const EXCLUSIVE: ReadonlySet<string> = new Set(['WRONG', 'UNREACHABLE']);

/** Reports a finding only when it differs from the last one of its source: failing checks are repeated. */
export function onNewFinding<F extends Finding>(report: (finding: F) => void): (finding: F) => void {
  const last = new Map<string, string>();
  return (finding) => {
    const { source, kind, error } = finding;
    const slot = EXCLUSIVE.has(kind) ? source : `${source} ${kind}`;
    const code = error instanceof GatewayError ? error.code : 'UNKNOWN';
    if (last.get(slot) === `${kind} ${code}`) return;
    last.set(slot, `${kind} ${code}`);
    report(finding);
  };
}
