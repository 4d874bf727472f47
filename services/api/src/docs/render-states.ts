import { table } from './markup.ts';

type Box = readonly [name: string, x: number, y: number, width: number, kind: 'open' | 'good' | 'bad'];
/** A path that ends downwards, to the right or to the left. */
type Arrow = readonly [
  path: string,
  end: readonly [x: number, y: number, direction: 'down' | 'right' | 'left'],
];
type Label = readonly [text: string, x: number, y: number];

const BOX_HEIGHT = 40;
const TIPS = {
  down: (x: number, y: number) => `M${x - 5} ${y - 8}h10l-5 8z`,
  right: (x: number, y: number) => `M${x - 8} ${y - 5}v10l8-5z`,
  left: (x: number, y: number) => `M${x + 8} ${y - 5}v10l-8-5z`,
};

function draw(
  title: string,
  height: number,
  boxes: readonly Box[],
  arrows: readonly Arrow[],
  labels: readonly Label[],
): string {
  const lines = arrows.map(
    ([path, [x, y, direction]]) => `<path class="line" d="${path}"/><path d="${TIPS[direction](x, y)}"/>`,
  );
  const texts = labels.map(([text, x, y]) => `<text class="label" x="${x}" y="${y}">${text}</text>`);
  const states = boxes.map(
    ([name, x, y, width, kind]) =>
      `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${BOX_HEIGHT}" rx="9"/><text x="${x + width / 2}" y="${y + 25}" text-anchor="middle">${name}</text>`,
  );
  return `<svg viewBox="0 0 400 ${height}" role="img" aria-label="${title}">${lines.join('')}${states.join('')}${texts.join('')}</svg>`;
}

const COLLECTION = draw(
  'States of a collection: INIT, PENDING, PENDING_CONFIRMATION, SUCCESS; EXPIRED from INIT and PENDING; FAILED when refused',
  350,
  [
    ['INIT', 40, 10, 190, 'open'],
    ['PENDING', 40, 100, 190, 'open'],
    ['PENDING_CONFIRMATION', 40, 190, 190, 'open'],
    ['SUCCESS', 40, 300, 190, 'good'],
    ['EXPIRED', 285, 100, 105, 'bad'],
    ['FAILED', 285, 300, 105, 'bad'],
  ],
  [
    ['M135 50V96', [135, 100, 'down']],
    ['M135 140V186', [135, 190, 'down']],
    ['M135 230V296', [135, 300, 'down']],
    ['M40 30H18V210H36', [40, 210, 'right']],
    ['M230 30H337V96', [337, 100, 'down']],
    ['M230 120H281', [285, 120, 'right']],
    ['M350 140V204H234', [230, 204, 'left']],
    ['M230 222H258V320H281', [285, 320, 'right']],
  ],
  [
    ['a part arrives', 143, 79],
    ['the rest arrives', 143, 169],
    ['confirmed', 143, 270],
    ['time is over', 240, 24],
    ['was paid in time', 240, 197],
    ['refused', 266, 270],
  ],
);

const PAYOUT = draw(
  'States of a payout: INIT, PENDING, PENDING_CONFIRMATION, SUCCESS; FAILED when expired, refused or reverted',
  350,
  [
    ['INIT', 40, 10, 190, 'open'],
    ['PENDING', 40, 100, 190, 'open'],
    ['PENDING_CONFIRMATION', 40, 190, 190, 'open'],
    ['SUCCESS', 40, 300, 190, 'good'],
    ['FAILED', 293, 190, 97, 'bad'],
  ],
  [
    ['M135 50V96', [135, 100, 'down']],
    ['M135 140V186', [135, 190, 'down']],
    ['M135 230V296', [135, 300, 'down']],
    ['M40 210H18V120H36', [40, 120, 'right']],
    ['M230 30H342V186', [342, 190, 'down']],
    ['M230 210H289', [293, 210, 'right']],
  ],
  [
    ['signed and sent', 143, 79],
    ['in a block', 143, 169],
    ['delivered', 143, 270],
    ['expired, refused', 240, 24],
    ['reverted', 235, 203],
  ],
);

const MEANINGS = [
  ['INIT', 'created; nothing arrived yet', '<code>ORDER_PENDING</code>'],
  ['PENDING', 'a part was paid; a payout was sent', '<code>ORDER_PENDING</code>'],
  [
    'PENDING_CONFIRMATION',
    'all of it is seen, with too few confirmations',
    '<code>ORDER_PENDING_CONFIRMATION</code>',
  ],
  ['SUCCESS', 'paid: ship now. Never changes', '<code>ORDER_SUCCESS</code>'],
  ['EXPIRED', 'too little, or nothing, came in time', '<code>ORDER_EXPIRED</code>'],
  ['FAILED', 'refused, or a payout that cannot be made. Never changes', '<code>ORDER_FAILED</code>'],
].map(([state = '', ...rest]) => [`<code>${state}</code>`, ...rest]);

/** All order states in one picture, with the callback of each. */
export function renderStates(): string {
  return `<section id="states"><h2>States of an order</h2>
<figure class="states"><div><p>Collection</p>${COLLECTION}</div><div><p>Payout</p>${PAYOUT}</div><figcaption>A reorganisation can take a state back to an earlier one until SUCCESS. An operator can accept what an expired order received, and refuse any order that is not SUCCESS.</figcaption></figure>
${table('States of an order', ['State', 'Meaning', 'Callback'], MEANINGS)}</section>`;
}
