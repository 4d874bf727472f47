export const STYLE = `:root{color-scheme:light dark;--paper:#fbf9f5;--card:#fff;--ink:#24211d;--dim:#665f56;--line:#e3ddd2;--green:#17634a;--on-green:#fff;--good:#17634a;--good-soft:#e0f0e7;--bad:#a3281f;--bad-soft:#fae6e3;--open:#6b5310;--open-soft:#f7efd6;font:16px/1.55 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{--paper:#15181a;--card:#1d2124;--ink:#eceae6;--dim:#aca69d;--line:#363b3f;--green:#66c29c;--on-green:#0b2119;--good:#7fd3b0;--good-soft:#173429;--bad:#f3a59e;--bad-soft:#42211f;--open:#ecd28a;--open-soft:#3a3117}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);min-height:100vh;display:flex;flex-direction:column}
a{color:var(--green)}img{display:block}
header{position:relative;display:flex;flex-wrap:wrap;align-items:center;gap:.4rem 1.6rem;padding:.8rem max(1rem,calc(50vw - 35rem));background:var(--card);border-bottom:1px solid var(--line)}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:700;font-size:1.15rem;color:inherit;text-decoration:none;margin-right:auto}
nav{display:flex;flex-wrap:wrap;align-items:center;gap:.1rem 1.1rem}nav a{color:inherit;text-decoration:none;padding:.35rem 0}nav a:hover{text-decoration:underline}nav a[aria-current]{font-weight:650;box-shadow:inset 0 -2px var(--green)}
.merchant summary{color:inherit;padding:.35rem 0;list-style:none}.merchant summary::-webkit-details-marker{display:none}.merchant summary::after{content:" ▾"}.merchant .current summary{font-weight:650}.merchant details div{position:absolute;right:max(1rem,calc(50vw - 35rem));top:calc(100% - .4rem);z-index:2;display:grid;min-width:9rem;padding:.4rem 1rem;background:var(--card);border:1px solid var(--line);border-radius:10px;box-shadow:0 6px 20px #0002}.merchant a{padding:.5rem 0}.demo{display:flex;flex-wrap:wrap;align-items:center;gap:.6rem 1.2rem;margin-top:1.4rem;padding:1rem 1.3rem;border:1px dashed var(--dim);border-radius:14px;color:var(--dim)}.demo p{flex:1 1 16rem;margin:0;overflow-wrap:anywhere}.demo button{font-weight:500}
main{flex:1;width:100%;max-width:72rem;margin:0 auto;padding:2rem 1rem 3rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em}h2{font-size:1.15rem;margin:2rem 0 .6rem}.lead{color:var(--dim);font-size:1.1rem;margin:0 0 1.8rem}.dim{color:var(--dim)}
footer{padding:1.2rem 1rem;text-align:center;color:var(--dim);font-size:.9rem;border-top:1px solid var(--line)}footer p{margin:0}
.products{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:1.4rem;list-style:none;margin:0;padding:0}
.product{position:relative;display:flex;flex-direction:column;background:var(--card);border:1px solid var(--line);border-radius:14px;overflow:hidden}.product img{width:100%;height:auto}.product div{flex:1;display:flex;flex-direction:column;padding:.9rem 1rem 1rem}.product p{flex:1}
.product h2{margin:0;font-size:1.1rem}.product p{margin:.1rem 0 .8rem;color:var(--dim);font-size:.95rem}.product footer{all:unset;display:flex;align-items:center;justify-content:space-between}
.product a::after{content:"";position:absolute;inset:0}.price{font-weight:650;font-size:1.15rem;font-variant-numeric:tabular-nums}
button,.button{display:inline-block;background:var(--green);color:var(--on-green);border:1px solid var(--green);border-radius:9px;padding:.55rem 1.1rem;font:inherit;font-weight:600;line-height:1.4;text-decoration:none;text-align:center;cursor:pointer}
button:hover,.button:hover{filter:brightness(1.1)}.quiet{background:none;color:var(--green)}:focus-visible{outline:3px solid var(--green);outline-offset:2px}
.two{display:grid;gap:1.4rem;margin-top:1.4rem}.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.3rem}.card>:first-child{margin-top:0}.card>:last-child{margin-bottom:0}
.item{display:flex;gap:1.1rem;align-items:center}.item img{width:7.5rem;height:auto;border-radius:10px}.item h2,.item p{margin:.1rem 0}.item .price{margin-left:auto}
dl{display:grid;grid-template-columns:auto 1fr;gap:.4rem 1.2rem;margin:1rem 0}dt{color:var(--dim)}dd{margin:0;text-align:right;overflow-wrap:anywhere}.total{font-weight:700;font-size:1.15rem;color:inherit}dl.left dd{text-align:left;text-wrap:balance}dl.left code{word-break:break-all}
label{display:block;font-weight:600;margin:.9rem 0 .3rem}select,input{width:100%;font:inherit;color:inherit;background:var(--paper);border:1px solid #8d867b;border-radius:9px;padding:.55rem .7rem}.wide{width:100%;margin-top:1rem}
.pay{display:grid;gap:.6rem;margin:1.2rem 0 0}.pay form{display:grid}.hint{color:var(--dim);font-size:.9rem;margin:.1rem 0 0}
.badge{display:inline-block;border-radius:99px;padding:.1rem .7rem;font-size:.88rem;font-weight:600;white-space:nowrap}.open{background:var(--open-soft);color:var(--open)}.good{background:var(--good-soft);color:var(--good)}.bad{background:var(--bad-soft);color:var(--bad)}
.notice{border-radius:10px;padding:.8rem 1rem}
.steps{list-style:none;margin:1rem 0 0;padding:0}.steps li{position:relative;padding:0 0 1rem 2rem;color:var(--dim)}.steps li::before{content:"";position:absolute;left:.2rem;top:.3rem;width:.9rem;height:.9rem;border-radius:50%;border:2px solid var(--line);background:var(--card);z-index:1}.steps li:not(:last-child)::after{content:"";position:absolute;left:.62rem;top:.6rem;bottom:-.4rem;width:2px;background:var(--line)}
.steps .done{color:inherit}.steps .done::before{background:var(--green);border-color:var(--green)}.steps .done:not(:last-child)::after{background:var(--green)}.steps li:last-child{padding-bottom:0}
.rows{list-style:none;margin:1.2rem 0 0;padding:0;background:var(--card);border:1px solid var(--line);border-radius:14px;overflow:hidden}.two .rows{margin-top:0}.rows>li{padding:.8rem 1.1rem;border-bottom:1px solid var(--line)}.rows>li:last-child{border-bottom:0}
.row{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.1rem 1rem;align-items:center}.row p{margin:0;overflow-wrap:anywhere}.row .badge{grid-row:span 2}.row .dim{font-size:.9rem;overflow-wrap:anywhere}.row img{width:3.4rem;height:auto;border-radius:7px}.pictured{grid-template-columns:auto minmax(0,1fr) auto}.pictured img{grid-row:span 2}
summary{cursor:pointer;color:var(--green);padding:.3rem 0;width:max-content;max-width:100%}pre{margin:.3rem 0 .6rem;padding:.8rem 1rem;background:var(--paper);border:1px solid var(--line);border-radius:9px;overflow-x:auto;font-size:.85rem;line-height:1.5}code{font-family:ui-monospace,Menlo,monospace;font-size:.88em;overflow-wrap:anywhere}pre code{overflow-wrap:normal;font-size:1em}
.inline{display:flex;flex-wrap:wrap;gap:.6rem;align-items:end}.inline div{flex:1 1 16rem}.inline label{margin-top:0}.inline+.hint{margin-top:.8rem}
@media(min-width:50rem){.two{grid-template-columns:minmax(0,1.25fr) minmax(0,1fr);align-items:start}[data-live] .two,.even{align-items:stretch}.even{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media(max-width:50rem){header{padding-block:.6rem}header{gap:.2rem .7rem}header nav{font-size:.9rem;gap:.1rem .7rem}header nav a[aria-current],.merchant .current summary{font-weight:inherit}.merchant .current summary{box-shadow:inset 0 -2px var(--green)}.brand{font-size:.95rem;gap:.4rem}.brand img{width:1.6rem;height:1.6rem}.card{padding:1rem}.two{gap:1rem;margin-top:1rem}.row{grid-template-columns:minmax(0,1fr)}.pictured{grid-template-columns:auto minmax(0,1fr)}.row .badge{grid-row:auto;justify-self:start}.pictured .badge{grid-column:2}.pictured img{grid-row:span 3;align-self:start}h1{font-size:1.6rem}main{padding-top:1.4rem}.products{grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.8rem}.product div{padding:.7rem .8rem .9rem}.product p{font-size:.88rem}.item img{width:5.5rem}.product .button{padding:.4rem .8rem}}time{white-space:nowrap}`;

/**
 * Replaces the element marked `data-live` every second when it changed. Input elsewhere on the page is kept, and so are
 * the focus and the open details of the element that have an id.
 */
export const SCRIPT = `const liveIn = (root) => root.querySelector('[data-live]');
let last = liveIn(document)?.innerHTML;
async function refresh() {
  const text = await (await fetch(location.href, { cache: 'no-store' })).text();
  const fresh = liveIn(new DOMParser().parseFromString(text, 'text/html'));
  const shown = liveIn(document);
  if (!fresh || fresh.innerHTML === last) return;
  last = fresh.innerHTML;
  const focused = document.activeElement?.id;
  for (const { id } of shown.querySelectorAll('details[open][id]'))
    fresh.querySelector('#' + CSS.escape(id))?.setAttribute('open', '');
  shown.replaceWith(document.adoptNode(fresh));
  if (focused) document.getElementById(focused)?.focus();
}
if (last !== undefined)
  setInterval(() => { if (!document.hidden) refresh().catch(() => undefined); }, 1000);
`;
