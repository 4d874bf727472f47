import type { Say } from '../texts/create-say.ts';
import { chainNameOf, tokenStandard } from './chain-names.ts';
import { isChosen, type CheckoutOrder } from './checkout-order.ts';
import { queryWithout } from './folds.ts';
import { coinGlyph } from './glyphs.ts';
import { markup, type Html } from './html.ts';
import { ICONS } from './icons.ts';
import type { PageContext } from './page-context.ts';

type Option = NonNullable<CheckoutOrder['options']>[number];
type Coin = Pick<Option, 'chain' | 'symbol'>;

/** The form's field. Its value is a `coinKey`. */
export const OPTION_FIELD = 'option';

/** A coin among the options of an order. */
export function coinKey({ chain, symbol }: Coin): string {
  return `${chain} ${symbol}`;
}

const FEES = { LOW: 'feeLow', MEDIUM: 'feeMedium', HIGH: 'feeHigh' } as const;
const FEE_PLACES = { LOW: 0, MEDIUM: 1, HIGH: 2 } as const;
const UNKNOWN = 3;
/** Longer times are shown in minutes. */
const SECONDS_SHOWN_MAX = 90;

/** The cheapest first, and the fastest of those. Equal ones keep the order of the gateway. */
export function sortOptions(options: readonly Option[]): readonly Option[] {
  const placeOf = ({ feeClass }: Option) => (feeClass === null ? UNKNOWN : FEE_PLACES[feeClass]);
  const secondsOf = ({ expectedSeconds }: Option) => expectedSeconds ?? Number.MAX_SAFE_INTEGER;
  return options.toSorted((a, b) => placeOf(a) - placeOf(b) || secondsOf(a) - secondsOf(b));
}

/** One button per coin, so that the form needs no script. The script sends the choice without a reload. */
export function renderChoice(order: CheckoutOrder, around: PageContext, say: Say): Html {
  const { pageUrl, choice } = around;
  const query = queryWithout('choose', new URLSearchParams(pageUrl === null ? '' : new URL(pageUrl).search));
  const options = sortOptions(order.options ?? []);
  return markup`<form class="choice" id="choose" tabindex="-1" method="post" action="?${query}">
    <p class="soft">${say('chooseHint')}</p>
    <p class="notice" role="status" data-tone="warn">${choice.notice !== null && say(choice.notice)}</p>
    <ul>${options.map((option) => markup`<li>${optionButton(option, order, around, say)}</li>`)}</ul>
    <p class="warn">${ICONS.warning}<span>${say('chooseWarning')}</span></p>
    ${isChosen(order) && markup`<p class="soft">${say('chooseEarlier')}</p>`}
  </form>`;
}

function optionButton(
  option: Option,
  order: CheckoutOrder,
  { choice, offline }: PageContext,
  say: Say,
): Html {
  const key = coinKey(option);
  const isCurrent = isChosen(order) && key === coinKey(order);
  const isAsked = choice.asked === key;
  const standard = tokenStandard(option);
  const disabled = (choice.asked !== null || offline) && markup` disabled`;
  // A part was paid: what is due in another coin is known after its choice.
  const amount = order.status === 'INIT' && say.money(option.amount, option.symbol);
  return markup`<button class="button plain option" name="${OPTION_FIELD}" value="${key}"${isCurrent && markup` aria-current="true"`}${isAsked && markup` aria-busy="true"`}${disabled}>
    ${coinGlyph(option)}
    <strong>${option.symbol}</strong>
    <strong>${isAsked ? markup`<i class="spinner"></i>` : markup`<bdi dir="ltr" class="whole">${amount}</bdi>`}${isCurrent && markup` ${ICONS.done}`}</strong>
    <span class="terms"><bdi dir="ltr">${chainNameOf(option)}</bdi>${standard !== null && markup` <bdi dir="ltr" class="soft whole">${standard}</bdi>`}<br /><span class="soft">${terms(option, say)}${choice.before === key && markup` <strong>${say('chosenBefore')}</strong>`}</span></span>
  </button>`;
}

function terms({ feeClass, expectedSeconds: seconds }: Option, say: Say): Html {
  const fee = feeClass !== null && say(FEES[feeClass]);
  const time = seconds !== null && markup`<span class="whole">${duration(seconds, say)}</span>`;
  return markup`${fee}${fee !== false && time !== false && ' \u00b7 '}${time}`;
}

function duration(seconds: number, say: Say): string {
  return seconds <= SECONDS_SHOWN_MAX
    ? say('aboutSeconds', { count: String(seconds) })
    : say('aboutMinutes', { count: String(Math.ceil(seconds / 60)) });
}
