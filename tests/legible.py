"""What every picture must keep, so that it can be read on a telephone and without colours."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

#: Width of a telephone, and height of capitals in pixels; capitals are this share of the size of a font.
PHONE, LEAST, CAPITALS = 400.0, 7.0, 0.729


def faults(figure, width=4.8):
    """Say what is wrong with a figure: its width, letters that are too small or cut off, lines that look alike."""
    FigureCanvasAgg(figure).draw()
    found = [] if figure.get_figwidth() == width else [f"{figure.get_figwidth():g} inches wide"]
    box = figure.bbox.padded(1.0)
    for text in written(figure):
        height = CAPITALS * text.get_fontsize() / 72.0 * PHONE / figure.get_figwidth()
        extent = text.get_window_extent()
        if height < LEAST:
            found.append(f"{text.get_text()!r} is {height:.1f} pixels high")
        if extent.x0 < box.x0 or extent.x1 > box.x1 or extent.y0 < box.y0 or extent.y1 > box.y1:
            found.append(f"{text.get_text()!r} is cut off")
    for ax in figure.axes:
        lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
        looks = [(str(line._dash_pattern), line.get_linestyle(), line.get_marker()) for line in lines]
        alike = [line for line, look in zip(lines, looks, strict=True) if looks.count(look) > 1]
        found += [f"{line.get_label()!r} is told by colour alone" for line in alike]
    return found


def written(figure):
    """Texts that are seen: those of ticks outside of the axes are not."""
    hidden = set()
    for ax in figure.axes:
        hidden |= {id(text) for text in ax.findobj(Text)} if not ax.get_visible() else set()
        for axis in (ax.xaxis, ax.yaxis):
            # As it is drawn: on a logarithmic axis a share of the span would reach beyond small numbers.
            place = axis.get_transform().transform
            low, high = sorted(place(axis.get_view_interval()))
            margin = 1e-9 * (high - low)
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            outside = [tick for tick in ticks if not low - margin <= place(tick.get_loc()) <= high + margin]
            gone = ticks if not ax.axison else outside
            hidden |= {id(label) for tick in gone for label in (tick.label1, tick.label2)}
            hidden |= {id(axis.label)} if not ax.axison else set()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if id(text) not in hidden]
