import { readFile } from 'node:fs/promises';
import { checkLogo } from '@opentill/contracts/logo/check-logo';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Typed } from '../add-command.ts';
import { usage, type CliContext } from '../context.ts';
import { callOps, type Given } from '../ops-client.ts';
import { requireHttpUrl, requireOrigin } from '../require-url.ts';

export interface SetMerchantOptions extends Typed<
  | 'name'
  | 'logo'
  | 'accentColor'
  | 'supportUrl'
  | 'supportEmail'
  | 'shopUrl'
  | 'callbackUrl'
  | 'signVersion'
  | 'orderTtlSeconds'
  | 'toleranceBps'
  | 'markupBps'
  | 'lateGraceSeconds'
> {
  readonly returnOrigin?: readonly string[];
  readonly notifyReverted?: boolean;
  readonly notifyUnmatched?: boolean;
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export async function setMerchant(
  context: CliContext,
  merchantId: string,
  options: SetMerchantOptions,
): Promise<void> {
  const fields = { ...readFields(options), ...(await readProfile(options)) };
  const names = Object.keys(fields);
  if (names.length === 0) throw usage('Give at least one change: opentill merchant set --help.');
  await callOps(context, 'setMerchant', { merchantId, ...fields });
  context.print(`${merchantId}: ${names.join(', ')} set; the services apply it within seconds.`);
}

type SetFields = Omit<OpsInput<'setMerchant'>, 'merchantId'>;

/** Profile on the checkout page. `none` removes a value. */
async function readProfile(options: SetMerchantOptions): Promise<SetFields> {
  const { name, supportEmail } = options;
  const accentColor = orNone(options.accentColor);
  if (typeof accentColor === 'string' && !/^#[0-9a-f]{6}$/i.test(accentColor))
    throw usage(`--accent-color must have the form #1f6feb, not ${accentColor}.`);
  const fields = {
    name,
    logo: options.logo === 'none' ? null : options.logo && (await readLogo(options.logo)),
    accentColor,
    supportUrl: httpUrlOrNone('--support-url', options.supportUrl),
    supportEmail: orNone(supportEmail),
    shopUrl: httpUrlOrNone('--shop-url', options.shopUrl),
  } satisfies Given<SetFields>;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Base64. The ops service makes the same check. */
async function readLogo(file: string): Promise<string> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw usage(`--logo: ${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  });
  const checked = checkLogo(bytes);
  if ('problem' in checked) throw usage(`--logo: ${file} ${checked.problem}.`);
  return bytes.toString('base64');
}

function orNone(text: string | undefined): string | null | undefined {
  return text === 'none' ? null : text;
}

function httpUrlOrNone(option: string, text: string | undefined): string | null | undefined {
  if (text !== undefined && text !== 'none') requireHttpUrl(option, text);
  return orNone(text);
}

function readFields(options: SetMerchantOptions): SetFields {
  const { returnOrigin, notifyReverted, notifyUnmatched } = options;
  const origins = returnOrigin?.filter((origin) => origin !== 'none');
  for (const origin of origins ?? []) requireOrigin('--return-origin', origin);
  if (options.enabled === true && options.disabled === true)
    throw usage('Give either --enabled or --disabled.');
  const { enabled, disabled } = options;
  const fields = {
    callbackUrl: httpUrlOrNone('--callback-url', options.callbackUrl),
    returnOrigins: origins,
    signVersion: integer('--sign-version', options.signVersion, 1, 2),
    orderTtlSeconds: integer('--order-ttl-seconds', options.orderTtlSeconds, 60, 86_400),
    markupBps: integer('--markup-bps', options.markupBps, 0, 10_000),
    underpaymentToleranceBps: integer('--tolerance-bps', options.toleranceBps, 0, 10_000),
    lateGraceSeconds: integer('--late-grace-seconds', options.lateGraceSeconds, 0, 604_800),
    notifyReverted,
    notifyUnmatched,
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
