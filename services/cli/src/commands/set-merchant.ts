import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Typed } from '../add-command.ts';
import { usage, type CliContext } from '../context.ts';
import { callOps, type Given } from '../ops-client.ts';
import { requireHttpUrl, requireOrigin } from '../require-url.ts';

export interface SetMerchantOptions extends Typed<
  'callbackUrl' | 'signVersion' | 'orderTtlSeconds' | 'toleranceBps' | 'lateGraceSeconds'
> {
  readonly returnOrigin?: readonly string[];
  readonly notifyReverted?: boolean;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export async function setMerchant(
  context: CliContext,
  merchantId: string,
  options: SetMerchantOptions,
): Promise<void> {
  const fields = readFields(options);
  const names = Object.keys(fields);
  if (names.length === 0) throw usage('Give at least one change: opentill merchant set --help.');
  await callOps(context, 'setMerchant', { merchantId, ...fields });
  context.print(`${merchantId}: ${names.join(', ')} set; the services apply it within seconds.`);
}

type SetFields = Omit<OpsInput<'setMerchant'>, 'merchantId'>;

function readFields(options: SetMerchantOptions): SetFields {
  const { callbackUrl, returnOrigin, notifyReverted } = options;
  if (callbackUrl !== undefined && callbackUrl !== 'none') requireHttpUrl('--callback-url', callbackUrl);
  const origins = returnOrigin?.filter((origin) => origin !== 'none');
  for (const origin of origins ?? []) requireOrigin('--return-origin', origin);
  if (options.enabled === true && options.disabled === true)
    throw usage('Give either --enabled or --disabled.');
  const { enabled, disabled } = options;
  const fields = {
    callbackUrl: callbackUrl === 'none' ? null : callbackUrl,
    returnOrigins: origins,
    signVersion: integer('--sign-version', options.signVersion, 1, 2),
    orderTtlSeconds: integer('--order-ttl-seconds', options.orderTtlSeconds, 60, 86_400),
    underpaymentToleranceBps: integer('--tolerance-bps', options.toleranceBps, 0, 10_000),
    lateGraceSeconds: integer('--late-grace-seconds', options.lateGraceSeconds, 0, 604_800),
    notifyReverted,
    enabled: enabled === true ? true : disabled === true ? false : undefined,
  } satisfies Given<SetFields>;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function integer(option: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^[0-9]{1,6}$/.test(text) && value >= min && value <= max) return value;
  throw usage(`${option} must be a whole number from ${min} to ${max}, not ${text}.`);
}
